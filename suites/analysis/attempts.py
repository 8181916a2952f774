"""Produce attempts as the witness saw them: which request put which batch into the log, and how it was answered.

An :class:`Attempt` is one partition of one Produce request. A client may send the same records in several attempts;
each attempt that the broker appended left a batch in the log. ``origins`` finds the attempt of a batch: by the
base offset in its answer and the bytes (CRC); where no answer was written (the connection died first) by producer id,
epoch and sequence, or by the bytes alone, or, if this broker rewrites batches, by the number of records. Times are the
witness's: when the client sent is for :mod:`suites.analysis.sending` to say.
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
#: So many batches of a partition does a broker know of a producer (KAFKA-5494).
REMEMBERED = 5
#: Who closed a connection, in its row.
CLIENT = "client"


class BatchPlace(NamedTuple):
    """Where a batch lies in the log."""

    partition: int
    base_offset: int


class Attempt(msgspec.Struct, frozen=True):
    """``answered_ns`` None: no answer passed the witness; ``closed_ns`` None: the connection outlived the trial.

    ``asked_ns`` is when the client had sent it for certain, ``sent_ns`` when it went on to the broker: a rule of the
    witness may keep a request for long. ``request`` numbers Produce requests in the order in which they passed;
    ``errors`` are those of all partitions in the answer.
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
        """True if the broker answered that the batch is in its log."""
        return self.error_code == 0 and self.base_offset >= 0

    @property
    def place(self) -> BatchPlace:
        """Where the broker said that it put the batch."""
        return BatchPlace(self.part.partition, self.base_offset)

    @property
    def sequence(self) -> tuple[int, ...] | None:
        """``(producer id, epoch, base sequence)``, None for a batch without."""
        part = self.part
        if part.producer_id is None or part.producer_id < 0:
            return None
        return part.producer_id, part.producer_epoch or 0, part.base_sequence or 0


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the log, by its first record."""

    first: LogRecord
    records: int

    @property
    def sequence(self) -> tuple[int, ...] | None:
        """As :attr:`Attempt.sequence`."""
        first = self.first
        return None if first.producer_id < 0 else (first.producer_id, first.producer_epoch, first.sequence)


def batch_place(record: LogRecord) -> BatchPlace:
    """Where the batch of ``record`` lies."""
    return BatchPlace(record.partition, record.base_offset)


@view
def attempts(evidence: Evidence) -> list[Attempt]:
    """All attempts, in the order in which they passed the witness."""
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
    """The attempt of each batch of the log, where one is found; no attempt stands for two batches.

    What was answered before the topic was created again lies in no log any more.
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
    # An answer that names a place whose batch has other bytes is of that batch only if nothing else fits it.
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
    """Move batches from ``waiting`` to ``found``, each to the first candidate that fits by the first rule that does."""
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
    """Attempt -> the next one with the same batch: same producer id, epoch and sequence, or the same bytes."""
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
    # Too weak where bytes can be compared: only for a broker that is seen to rewrite them (say, to compress anew).
    return attempt.sequence == batch.sequence and attempt.part.records == batch.records
