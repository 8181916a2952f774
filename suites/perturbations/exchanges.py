"""Which Produce request wrote which batch. Perturbations find their places with these views.

They share nothing with the checks, which answer the same question with more doubt. Here a batch counts only
if everything is certain, since a perturbation may choose its place.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Frame, FrameKind, LogRecord, ProducePart

PRODUCE = "Produce"
#: Faults that move, truncate or recreate the log. Places before such a fault are not those after it.
REWRITES_LOG = frozenset({"topic_recreate", "log_trim"})

Spot = tuple[int, int]
"""Partition and base offset of a batch."""


class Exchange(NamedTuple):
    """One partition of a Produce request and of its answer, if any, as indexes of frames and of parts."""

    request: int
    part: int
    answer: int | None = None
    answer_part: int | None = None


class Batch(NamedTuple):
    """A batch of the log that certainly one exchange wrote, and the client's result for each of its records."""

    spot: Spot
    records: tuple[LogRecord, ...]
    exchange: Exchange
    sends: tuple[Operation, ...]

    @property
    def partition(self) -> int:
        """The partition of the batch."""
        return self.spot[0]


@view
def exchanges(evidence: Evidence) -> tuple[Exchange, ...]:
    """Return all exchanges, in the order of the requests."""
    asked: dict[tuple[int, int, int | None], list[Exchange]] = {}
    made: list[Exchange] = []
    answers: dict[tuple[int, int], tuple[int, int]] = {}
    for index, frame in enumerate(evidence.frames):
        if frame.api != PRODUCE:
            continue
        key = (frame.lane, frame.conn, frame.correlation_id)
        if frame.kind is FrameKind.REQUEST:
            asked[key] = [Exchange(index, part) for part in range(len(frame.produce))]
            made += asked[key]
        elif frame.kind is FrameKind.RESPONSE:
            for exchange in asked.pop(key, ()):
                at = _part_for(frame, evidence.frames[exchange.request].produce[exchange.part])
                if at is not None:
                    answers[exchange[:2]] = (index, at)
    return tuple([Exchange(*each[:2], *answers.get(each[:2], (None, None))) for each in made])


def _part_for(answer: Frame, asked: ProducePart) -> int | None:
    parts = enumerate(answer.produce)
    return next((at for at, part in parts if part.partition == asked.partition), None)


def asked(evidence: Evidence, exchange: Exchange) -> ProducePart:
    """Return the part that was sent."""
    return evidence.frames[exchange.request].produce[exchange.part]


def answered(evidence: Evidence, exchange: Exchange) -> ProducePart | None:
    """Return the part that was answered, if any."""
    if exchange.answer is None or exchange.answer_part is None:
        return None
    return evidence.frames[exchange.answer].produce[exchange.answer_part]


@view
def layout(evidence: Evidence) -> dict[int, list[tuple[LogRecord, ...]]]:
    """Map each partition to its batches in log order."""
    found: defaultdict[Spot, list[LogRecord]] = defaultdict(list)
    for record in evidence.log:
        found[record.partition, record.base_offset].append(record)
    partitions: defaultdict[int, list[tuple[LogRecord, ...]]] = defaultdict(list)
    for (partition, _), records in sorted(found.items()):
        partitions[partition].append(tuple(records))
    return dict(partitions)


@view
def settled(evidence: Evidence) -> dict[Spot, Batch]:
    """Return the batches that were sent once, answered with their place, and acknowledged record by record.

    Empty if a fault has rewritten the log. Batches are by place, in the order of partition and offset.
    """
    if any(row.spec.kind in REWRITES_LOG for row in evidence.faults):
        return {}
    by_bytes: defaultdict[tuple[int, int | None], list[Exchange]] = defaultdict(list)
    for exchange in exchanges(evidence):
        part = asked(evidence, exchange)
        by_bytes[part.partition, part.crc].append(exchange)
    found = {}
    for batches in layout(evidence).values():
        for records in batches:
            first = records[0]
            same = by_bytes.get((first.partition, first.batch_crc), [])
            if len(same) == 1 and (batch := _settled(evidence, records, same[0])) is not None:
                found[batch.spot] = batch
    return found


def _settled(evidence: Evidence, records: tuple[LogRecord, ...], exchange: Exchange) -> Batch | None:
    spot = (records[0].partition, records[0].base_offset)
    answer = answered(evidence, exchange)
    if answer is None or answer.error_code or answer.base_offset != spot[1]:
        return None
    if asked(evidence, exchange).records != len(records):
        return None
    sends = []
    for record in records:
        n = number(evidence, record)
        send = evidence.acknowledged.get(n) if n is not None else None
        if send is None or send.offset not in (-1, record.offset) or len(evidence.copies[send.n]) != 1:
            return None
        sends.append(send)
    return Batch(spot, records, exchange, tuple(sends))


@view
def _numbers(evidence: Evidence) -> dict[tuple[int, int], int | None]:
    places = [(record.partition, record.offset) for record in evidence.log]
    return dict(zip(places, evidence.numbers, strict=True))


def number(evidence: Evidence, record: LogRecord) -> int | None:
    """Return the number of a record of the log, or None if it is not one of this trial."""
    return _numbers(evidence).get((record.partition, record.offset))


def request_of(evidence: Evidence, batch: Batch) -> Frame:
    """Return the request with the batch."""
    return evidence.frames[batch.exchange.request]


def answer_to(evidence: Evidence, batch: Batch) -> Frame:
    """Return the answer that acknowledged the batch."""
    assert batch.exchange.answer is not None
    return evidence.frames[batch.exchange.answer]


@view
def opening(evidence: Evidence) -> tuple[Frame, ...]:
    """Return the first frames of a connection that carries Produce: OPEN, and the ApiVersions exchange if any."""
    conns = {frame.conn for frame in evidence.frames if frame.api == PRODUCE}
    for conn in sorted(conns):
        rows = [frame for frame in evidence.frames if frame.conn == conn]
        hello = [row for row in rows if row.kind is FrameKind.OPEN or row.api == "ApiVersions"]
        if hello and hello[0].kind is FrameKind.OPEN:
            return tuple(hello)
    return ()


def in_calm(evidence: Evidence, batch: Batch) -> bool:
    """True for a batch without an excuse: see :func:`calm`."""
    return batch.spot in calm(evidence)


@view
def calm(evidence: Evidence) -> dict[Spot, Batch]:
    """Return the settled batches around which nothing failed that could explain anything.

    No fault was in effect from a second before the first of its records was handed over until a second after
    its answer, while the answer was in transit. Until the answer, no connection began or ended, and no
    attempt was refused or left without an answer.
    """
    troubles = _troubles(evidence)
    found = {}
    for spot, batch in settled(evidence).items():
        since_ns = min(send.invoke_ns for send in batch.sends) - SECOND_NS
        until_ns = answer_to(evidence, batch).t_ns
        if not any(begin <= until_ns and since_ns <= end for begin, end in troubles):
            found[spot] = batch
    return found


SECOND_NS = 1_000_000_000


def _troubles(evidence: Evidence) -> list[tuple[int, int]]:
    windows = [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    spans = [(begin_ns - SECOND_NS, end_ns) for begin_ns, end_ns in windows]
    first_ns = min((frame.t_ns for frame in evidence.frames if frame.api == PRODUCE), default=0)
    for frame in evidence.frames:
        ends = frame.kind in (FrameKind.CLOSE, FrameKind.OPEN) and frame.t_ns > first_ns
        if ends or (frame.api == PRODUCE and (frame.error_codes or frame.fault)):
            spans.append((frame.t_ns, frame.t_ns))
    for exchange in exchanges(evidence):
        if exchange.answer is None:
            asked_ns = evidence.frames[exchange.request].t_ns
            spans.append((asked_ns, asked_ns + SECOND_NS))
    return spans
