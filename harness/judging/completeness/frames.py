"""The witness's rows: connections from opening to end, requests with their responses, and the batches of the log. Pure.

A broker responds to the requests of a connection in order, once each, except to Produce requests with acks=0. A
difference is excused if a row says that a rule of the witness caused it. Gaps in correlation ids prove nothing, because
some clients skip numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence

from harness.judging.completeness.kinds import has_other_log, is_produce
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import Disposition, Frame, FrameKind, Reason

FRAMES_LACK = ReasonKind("frames-incomplete", "the witness's rows are incomplete: {told} ({count:time})")

#: A partition, and the checksum of a batch, or None if it is not known.
_Batch = tuple[int, int | None]


def connections(evidence: Evidence) -> Reason | None:
    """Check that each connection has its opening and its end."""
    by_kind: dict[FrameKind, set[int]] = {kind: set() for kind in FrameKind}
    for row in (*evidence.frames, *evidence.blocked_frames):
        by_kind[row.kind].add(row.conn)
    if unopened := set().union(*by_kind.values()) - by_kind[FrameKind.OPEN]:
        return FRAMES_LACK.reason(told="a connection has no opening", lack="opening", count=len(unopened))
    if unclosed := by_kind[FrameKind.OPEN] - by_kind[FrameKind.CLOSE]:
        return FRAMES_LACK.reason(told="a connection has no end", lack="end", count=len(unclosed))
    return None


def exchanges(evidence: Evidence) -> Reason | None:
    """Check that responses have requests, and that requests have responses if a later one of their connection has.

    Frames that a rule touched are excused.
    """
    unasked = unanswered = 0
    for rows in _by_connection(evidence).values():
        answers = _Answers(rows)
        unasked += answers.unasked
        unanswered += answers.missing
    if unasked:
        return FRAMES_LACK.reason(told="an answer has no request", lack="request-of-answer", count=unasked)
    return (
        FRAMES_LACK.reason(told="a request has no answer", lack="answer", count=unanswered)
        if unanswered
        else None
    )


class _Answers:
    """The responses of one connection, matched with its requests."""

    def __init__(self, rows: Sequence[Frame]) -> None:
        requests = [row for row in rows if row.kind is FrameKind.REQUEST]
        self._never = {row.correlation_id for row in requests if row.disposition is Disposition.BLOCKED}
        self._waiting = deque(
            row for row in requests if row.disposition is not Disposition.BLOCKED and _is_answered(row)
        )
        self._passed_over: list[Frame] = []
        self.unasked = 0
        for row in rows:
            if row.kind is FrameKind.RESPONSE:
                self._take(row)

    @property
    def missing(self) -> int:
        """Count the requests, untouched by rules, without a response although a later request has one."""
        return sum(request.fault is None for request in self._passed_over)

    def _take(self, answer: Frame) -> None:
        id = answer.correlation_id
        # Rows do not show the order of responses with equal times.
        late = next((at for at, row in enumerate(self._passed_over) if row.correlation_id == id), None)
        due = next((at for at, row in enumerate(self._waiting) if row.correlation_id == id), None)
        if due is not None:
            self._passed_over += [self._waiting.popleft() for _ in range(due)]
            self._waiting.popleft()
        elif late is not None:
            del self._passed_over[late]
        elif answer.fault is None:
            self.unasked += 1
        elif id not in self._never and self._waiting:
            # A rule changed its correlation id: it is the response to the oldest request.
            self._waiting.popleft()


def _by_connection(evidence: Evidence) -> dict[int, list[Frame]]:
    """Return the rows of each connection in the order of arrival at the witness, not that of leaving it."""
    rows: defaultdict[int, list[Frame]] = defaultdict(list)
    for row in sorted((*evidence.frames, *evidence.blocked_frames), key=lambda row: row.arrived_ns):
        rows[row.conn].append(row)
    return rows


def _is_answered(request: Frame) -> bool:
    """False for a Produce request with acks=0, and for one that could not be decoded."""
    return not is_produce(request) or request.acks not in (0, None)


def requests(evidence: Evidence) -> Reason | None:
    """Check that each batch of the log was in a Produce request, if the witness could decode them all."""
    if has_other_log(evidence) or _unread(evidence):
        return None
    produce = [row for row in evidence.frames if is_produce(row)]
    if any(not row.produce or any(part.records is None for part in row.produce) for row in produce):
        return None
    parts = [part for row in produce for part in row.produce]
    records = [record for record in evidence.log if not record.control]
    # If a side has no checksum (old formats), a batch cannot be told apart from another one of its partition.
    told = all(part.crc is not None for part in parts) and all(r.batch_crc is not None for r in records)
    sent: Counter[_Batch] = Counter()
    for part in parts:
        sent[part.partition, part.crc if told else None] += part.records or 0
    stored = Counter((record.partition, record.batch_crc if told else None) for record in records)
    if untold := (stored - sent).total():
        return FRAMES_LACK.reason(
            told="a record of the log has no request", lack="request-of-record", count=untold
        )
    return None


def _unread(evidence: Evidence) -> set[int]:
    """Return the connections on which undecodable bytes passed while they were open.

    Bytes after the end of a connection are the beginning of an incomplete frame, which no broker acts on.
    """
    return {row.conn for row in _before_end(evidence.frames) if row.kind is FrameKind.OPAQUE}


def _before_end(rows: Sequence[Frame]) -> Iterator[Frame]:
    ended: set[int] = set()
    for row in rows:
        if row.kind is FrameKind.CLOSE:
            ended.add(row.conn)
        elif row.conn not in ended:
            yield row
