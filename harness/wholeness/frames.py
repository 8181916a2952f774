"""The witness's rows: connections from opening to end, requests with their answers, and the batches of the log. Pure.

A broker answers the requests of a connection in order, each once, but for a Produce request with acks=0. What a row
of the witness says that a rule did is excused, where the rule did it. Correlation ids that skip prove nothing: clients
skip some by themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from harness.anomaly import ReasonKind
from harness.evidence import Evidence
from harness.rows import Frame, FrameKind, Reason
from harness.wholeness.kinds import has_other_log, is_produce

FRAMES_LACK = ReasonKind("frames-incomplete", "the witness's rows are not whole: {what} ({count} times)")

#: Of a partition: the checksum, or None where it is not told.
_Batch = tuple[int, int | None]


def connections(evidence: Evidence) -> Reason | None:
    """Each connection has its opening and its end."""
    by_kind: dict[FrameKind, set[int]] = {kind: set() for kind in FrameKind}
    for row in (*evidence.frames, *evidence.stopped):
        by_kind[row.kind].add(row.conn)
    if unopened := set().union(*by_kind.values()) - by_kind[FrameKind.OPEN]:
        return FRAMES_LACK.reason(what="a connection has no opening", count=len(unopened))
    if unclosed := by_kind[FrameKind.OPEN] - by_kind[FrameKind.CLOSE]:
        return FRAMES_LACK.reason(what="a connection has no end", count=len(unclosed))
    return None


def exchanges(evidence: Evidence) -> Reason | None:
    """An answer that no rule touched has a request of its own, and a request before an answered one has its answer."""
    unasked = unanswered = 0
    for rows in _by_connection(evidence).values():
        asked = [row for row in rows if row.kind is FrameKind.REQUEST and _is_answered(row)]
        left = [row for row in rows if row.kind is FrameKind.RESPONSE]
        waiting = _waiting(asked, left)
        unasked += sum(row.fault is None for row in left)
        # An answer that a rule gave another id is one that is not missing.
        unanswered += max(0, waiting - sum(row.fault is not None for row in left))
    if unasked:
        return FRAMES_LACK.reason(what="an answer has no request", count=unasked)
    return FRAMES_LACK.reason(what="a request has no answer", count=unanswered) if unanswered else None


def _waiting(asked: Sequence[Frame], answers: list[Frame]) -> int:
    """How many untouched requests have no answer before the last that has one; takes out the answers that are due."""
    by_id: defaultdict[int | None, list[Frame]] = defaultdict(list)
    for answer in reversed(answers):
        by_id[answer.correlation_id].append(answer)
    passed_over = waiting = 0
    for request in asked:
        if by_id[request.correlation_id]:
            by_id[request.correlation_id].pop()
            waiting = passed_over
        else:
            passed_over += request.fault is None
    answers[:] = [answer for left in by_id.values() for answer in left]
    return waiting


def _by_connection(evidence: Evidence) -> dict[int, list[Frame]]:
    """Connection -> its rows in the order in which they came to the witness, whenever a rule let them leave."""
    rows: defaultdict[int, list[Frame]] = defaultdict(list)
    for row in sorted((*evidence.frames, *evidence.stopped), key=lambda row: row.arrived_ns):
        rows[row.conn].append(row)
    return rows


def _is_answered(request: Frame) -> bool:
    """False for a Produce request with acks=0, and where it cannot be read whether it is one."""
    return not is_produce(request) or request.acks not in (0, None)


def requests(evidence: Evidence) -> Reason | None:
    """Each batch of the log was sent in a Produce request that passed the witness, where it could read them all."""
    if has_other_log(evidence) or _unread(evidence):
        return None
    produce = [row for row in evidence.frames if is_produce(row)]
    if any(not row.produce or any(part.records is None for part in row.produce) for row in produce):
        return None
    parts = [part for row in produce for part in row.produce]
    records = [record for record in evidence.log if not record.control]
    # Without a checksum on both sides (old formats) a batch is not to be told from another of its partition.
    told = all(part.crc is not None for part in parts) and all(r.batch_crc is not None for r in records)
    sent: Counter[_Batch] = Counter()
    for part in parts:
        sent[part.partition, part.crc if told else None] += part.records or 0
    stored = Counter((record.partition, record.batch_crc if told else None) for record in records)
    if untold := (stored - sent).total():
        return FRAMES_LACK.reason(what="a record of the log has no request", count=untold)
    return None


def _unread(evidence: Evidence) -> set[int]:
    """Connections on which something passed that is no frame, while they were open.

    What follows the end of a connection is the beginning of a frame that never ended: no broker acts on that.
    """
    return {row.conn for row in _before_end(evidence.frames) if row.kind is FrameKind.OPAQUE}


def _before_end(rows: Sequence[Frame]) -> Iterator[Frame]:
    ended: set[int] = set()
    for row in rows:
        if row.kind is FrameKind.CLOSE:
            ended.add(row.conn)
        elif row.conn not in ended:
            yield row
