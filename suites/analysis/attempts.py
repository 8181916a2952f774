"""Produce attempts as the witness saw them: which request appended which batch, and what the broker answered.

An :class:`Attempt` is one partition of one Produce request. A client may send the same records in several
attempts, and each attempt that the broker appended left a batch in the log.

``origins`` finds the attempt of a batch by the base offset in its answer and the bytes (CRC). If no answer
was written because the connection died first, it matches by producer id, epoch and sequence, or by the bytes
alone. If the broker rewrites batches, it matches by the number of records.

Times are the times at the witness. :mod:`suites.analysis.sending` computes when the client sent an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind, LogRecord, ProducePart
from suites.analysis.recreated import recreations

PRODUCE = "Produce"
#: How many batches per partition a broker remembers of a producer (KAFKA-5494).
REMEMBERED = 5
#: The value of a row's ``closed_by`` if the client closed the connection.
CLIENT = "client"


class BatchPlace(NamedTuple):
    """The place of a batch in the log."""

    partition: int
    base_offset: int


class Attempt(msgspec.Struct, frozen=True):
    """One partition of one Produce request.

    ``answered_ns`` is None if no answer passed the witness. ``closed_ns`` is None if the connection outlived
    the trial.

    The client had sent the request by ``asked_ns`` at the latest. ``sent_ns`` is when the request went on to
    the broker; a rule of the witness may hold a request for a long time. ``request`` numbers Produce requests
    in the order in which they passed the witness. ``errors`` holds the errors of all partitions in the
    answer.
    """

    conn: int
    asked_ns: int
    sent_ns: int
    part: ProducePart
    answered_ns: int | None = None
    base_offset: int = -1
    error_code: int | None = None
    closed_ns: int | None = None
    broker: int = -1
    opened_ns: int | None = None
    request: int = 0
    errors: tuple[int, ...] = ()

    @property
    def accepted(self) -> bool:
        """True if the broker answered that it appended the batch."""
        return self.error_code == 0 and self.base_offset >= 0

    @property
    def place(self) -> BatchPlace:
        """The place that the broker gave for the batch."""
        return BatchPlace(self.part.partition, self.base_offset)

    @property
    def sequence(self) -> tuple[int, ...] | None:
        """``(producer id, epoch, base sequence)``, or None for a batch without a producer id."""
        part = self.part
        if part.producer_id is None or part.producer_id < 0:
            return None
        return part.producer_id, part.producer_epoch or 0, part.base_sequence or 0


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch in the log: its first record and its number of records."""

    first: LogRecord
    records: int

    @property
    def sequence(self) -> tuple[int, ...] | None:
        """See :attr:`Attempt.sequence`."""
        first = self.first
        return None if first.producer_id < 0 else (first.producer_id, first.producer_epoch, first.sequence)


def batch_place(record: LogRecord) -> BatchPlace:
    """Return the place of the batch that contains ``record``."""
    return BatchPlace(record.partition, record.base_offset)


@view
def attempts(evidence: Evidence) -> list[Attempt]:
    """Return all attempts, in the order in which they passed the witness."""
    closed = {frame.conn: frame.t_ns for frame in reversed(evidence.frames) if frame.kind is FrameKind.CLOSE}
    opened = {frame.conn: frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.OPEN}
    made: list[Attempt] = []
    asked: dict[tuple[int, int | None], list[int]] = {}
    requests = 0
    for frame in evidence.frames:
        if frame.api != PRODUCE:
            continue
        request = (frame.conn, frame.correlation_id)
        if frame.kind is FrameKind.REQUEST:
            requests += 1
            asked[request] = list(range(len(made), len(made) + len(frame.produce)))
            made += [
                Attempt(
                    frame.conn,
                    frame.arrived_ns,
                    frame.t_ns,
                    part,
                    closed_ns=closed.get(frame.conn),
                    broker=frame.broker,
                    opened_ns=opened.get(frame.conn),
                    request=requests,
                )
                for part in frame.produce
            ]
        elif frame.kind is FrameKind.RESPONSE:
            for index in asked.pop(request, ()):
                made[index] = _answered(made[index], frame)
    return made


@view
def origins(evidence: Evidence) -> dict[BatchPlace, Attempt]:
    """Map each batch in the log to its attempt, if one is found. An attempt is matched to at most one batch.

    Attempts that were answered before the topic was recreated are skipped, since their batches are not in the
    log any more.
    """
    since_ns = max(recreations(evidence), default=0)
    waiting = dict(_batches(evidence))
    found: dict[BatchPlace, Attempt] = {}
    loose: list[Attempt] = []
    misfits: list[Attempt] = []
    for attempt in attempts(evidence):
        if attempt.answered_ns is not None and attempt.answered_ns < since_ns:
            continue
        batch = waiting.get(attempt.place) if attempt.accepted else None
        if batch is not None and _same_bytes(attempt, batch):
            found[attempt.place] = attempt
            del waiting[attempt.place]
        elif attempt.accepted:
            misfits.append(attempt)
        else:
            loose.append(attempt)
    # An accepted attempt whose place holds a batch with other bytes gets that batch only if nothing else
    # matches it.
    _match(waiting, [*loose, *misfits], found, (_same_sequence, _same_bytes))
    taken = set(found.values())
    placed = [attempt for attempt in misfits if attempt not in taken]
    _match(waiting, placed, found, (_same_place,))
    if any(attempt is found.get(attempt.place) for attempt in placed):
        _match(waiting, [attempt for attempt in loose if attempt not in taken], found, (_same_size,))
    return found


def _match(
    waiting: dict[BatchPlace, Batch],
    candidates: Iterable[Attempt],
    found: dict[BatchPlace, Attempt],
    rules: Iterable[Callable[[Attempt, Batch], bool]],
) -> None:
    """Move each batch from ``waiting`` to ``found``, with its first matching candidate. Rules are tried in order."""
    left = list(candidates)
    if not left:
        return
    for fits in rules:
        for place in sorted(waiting):
            batch = waiting[place]
            match = next((a for a in left if a.part.partition == place.partition and fits(a, batch)), None)
            if match is not None:
                found[place] = match
                left.remove(match)
                del waiting[place]


def sent_again(made: Iterable[Attempt]) -> dict[Attempt, Attempt]:
    """Map each attempt to the next one with the same batch: same producer id, epoch and sequence, or same bytes."""
    latest: dict[tuple[object, ...], Attempt] = {}
    again: dict[Attempt, Attempt] = {}
    for attempt in made:
        key = (attempt.part.topic, attempt.part.partition, attempt.sequence or attempt.part.crc)
        if key in latest:
            again[latest[key]] = attempt
        latest[key] = attempt
    return again


def _answered(attempt: Attempt, answer: Frame) -> Attempt:
    offset, error_code = -1, None
    for part in answer.produce:
        if part.partition == attempt.part.partition:
            offset = -1 if part.base_offset is None else part.base_offset
            error_code = part.error_code
            break
    return Attempt(
        attempt.conn,
        attempt.asked_ns,
        attempt.sent_ns,
        attempt.part,
        answer.t_ns,
        offset,
        error_code,
        attempt.closed_ns,
        attempt.broker,
        attempt.opened_ns,
        attempt.request,
        answer.error_codes,
    )


@view
def _batches(evidence: Evidence) -> dict[BatchPlace, Batch]:
    first: dict[tuple[int, int], LogRecord] = {}
    counts: dict[tuple[int, int], int] = {}
    for record in evidence.log:
        if record.control:
            continue
        place = (record.partition, record.base_offset)
        known = first.get(place)
        if known is None:
            first[place], counts[place] = record, 1
            continue
        counts[place] += 1
        if record.offset < known.offset:
            first[place] = record
    return {BatchPlace(*place): Batch(record, counts[place]) for place, record in first.items()}


def _same_bytes(attempt: Attempt, batch: Batch) -> bool:
    return attempt.part.crc is not None and attempt.part.crc == batch.first.batch_crc


def _same_sequence(attempt: Attempt, batch: Batch) -> bool:
    return attempt.sequence is not None and attempt.sequence == batch.sequence


def _same_place(attempt: Attempt, batch: Batch) -> bool:
    return attempt.place == batch_place(batch.first)


def _same_size(attempt: Attempt, batch: Batch) -> bool:
    # This rule is too weak for brokers whose batches can be matched by bytes. It applies only to a broker
    # that was seen to rewrite batches (for example, to recompress them).
    return attempt.sequence == batch.sequence and attempt.part.records == batch.records
