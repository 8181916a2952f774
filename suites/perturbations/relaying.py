"""Another log, with everything that refers to it: offsets, answers, acknowledgements and sequences follow.

A new record, which no acknowledgement or answer knows yet, has the offset ``NEW``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind, LogRecord, ProducePart
from harness.model.verdicts import Outcome
from suites.perturbations.edits import with_parts, with_results
from suites.perturbations.exchanges import PRODUCE, asked, exchanges, layout

NEW = -1
Places = dict[tuple[int, int], tuple[int, int]]
Layout = Mapping[int, Sequence[Sequence[LogRecord]]]


def relaid(evidence: Evidence, partitions: Layout) -> Evidence:
    """Return the evidence with these batches in these partitions. Other partitions stay as they are.

    Offsets begin where they began and have no gaps. Sequences of each producer id and epoch continue without
    a gap, in the order of the log. Answers and acknowledgements of a place now name the new place.
    """
    places: Places = {}
    bases: Places = {}
    sequences: dict[tuple[int, int, int, int], int] = {}
    laid: dict[int, list[LogRecord]] = {}
    for partition, batches in partitions.items():
        laid[partition] = _laid(evidence, partition, batches, places, bases, sequences)
    log = [record for record in evidence.log if record.partition not in laid]
    log += [record for records in laid.values() for record in records]
    moved = replace(evidence, log=tuple(sorted(log, key=lambda record: (record.partition, record.offset))))
    return _acknowledged(_answered(_sequenced(moved, sequences), bases), places)


def _laid(
    evidence: Evidence,
    partition: int,
    batches: Sequence[Sequence[LogRecord]],
    places: Places,
    bases: Places,
    sequences: dict[tuple[int, int, int, int], int],
) -> list[LogRecord]:
    before = layout(evidence).get(partition, [])
    offset = before[0][0].offset if before else 0
    following = _first_sequences(before)
    laid: list[LogRecord] = []
    for records in batches:
        base = offset
        known = next((record for record in records if record.offset != NEW), None)
        producer = (records[0].producer_id, records[0].producer_epoch)
        sequence = following.get(producer, 0)
        if known is not None:
            bases[known.partition, known.base_offset] = (partition, base)
            if producer[0] >= 0:
                old = known.sequence - (known.offset - known.base_offset)
                sequences[(known.partition, *producer, old)] = sequence
        for record in records:
            if record.offset != NEW:
                places[record.partition, record.offset] = (partition, offset)
            numbered = record.sequence if producer[0] < 0 else sequence + offset - base
            laid.append(
                changed(record, partition=partition, offset=offset, base_offset=base, sequence=numbered)
            )
            offset += 1
        following[producer] = sequence + len(records)
    return laid


def _first_sequences(batches: Sequence[Sequence[LogRecord]]) -> dict[tuple[int, int], int]:
    first: dict[tuple[int, int], int] = {}
    for records in batches:
        first.setdefault((records[0].producer_id, records[0].producer_epoch), records[0].sequence)
    return first


def _sequenced(evidence: Evidence, sequences: Mapping[tuple[int, int, int, int], int]) -> Evidence:
    """Give requests the sequences that the log has now."""
    parts: dict[tuple[int, int], ProducePart | None] = {}
    for exchange in exchanges(evidence):
        part = asked(evidence, exchange)
        key = (part.partition, part.producer_id or 0, part.producer_epoch or 0, part.base_sequence or 0)
        if (new := sequences.get(key)) is not None and new != part.base_sequence:
            parts[exchange.request, exchange.part] = changed(part, base_sequence=new)
    return with_parts(evidence, parts) if parts else evidence


def _answered(evidence: Evidence, bases: Places) -> Evidence:
    parts: defaultdict[tuple[int, int], ProducePart | None] = defaultdict()
    for index, frame in enumerate(evidence.frames):
        if frame.api != PRODUCE or frame.kind is not FrameKind.RESPONSE:
            continue
        for at, part in enumerate(frame.produce):
            if part.error_code or part.base_offset is None:
                continue
            _, base = bases.get((part.partition, part.base_offset), (0, part.base_offset))
            if base != part.base_offset:
                parts[index, at] = changed(part, base_offset=base)
    return with_parts(evidence, parts) if parts else evidence


def _acknowledged(evidence: Evidence, places: Places) -> Evidence:
    sends = []
    for send in evidence.operations.values():
        if send.outcome is not Outcome.OK or send.offset < 0:
            continue
        partition, offset = places.get((send.partition, send.offset), (send.partition, send.offset))
        if (partition, offset) != (send.partition, send.offset):
            sends.append(changed(send, partition=partition, offset=offset))
    return with_results(evidence, sends) if sends else evidence
