"""The effects of faults on partitions: another leader, new partitions, a trimmed log, forgotten producers."""

from __future__ import annotations

from faults.effects import fetching
from faults.effects.span import is_target, span_of
from faults.kind import GRACE_NS
from harness.model.evidence import Evidence
from harness.model.exchanges import PRODUCE, connections
from harness.model.rows import FaultRow, FrameKind


def moved(row: FaultRow, evidence: Evidence) -> int:
    """Count the partitions whose Produce went to one of the fault's brokers before it, and to another during it."""
    span = span_of(row)
    if span is None:
        return 0
    before: dict[int, int] = {}
    gone: set[int] = set()
    for frame in evidence.frames:
        if frame.t_ns > span.end_ns + GRACE_NS:
            break
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            for part in frame.produce:
                if frame.t_ns < span.begin_ns:
                    before[part.partition] = frame.broker
                elif (
                    is_target(row.spec, was := before.get(part.partition, frame.broker))
                    and was != frame.broker
                ):
                    gone.add(part.partition)
    return len(gone)


def new_partitions(row: FaultRow, evidence: Evidence, known_within_ns: int) -> int:
    """Count the batches for partitions that the topic did not have at first and that the client had not used before.

    The first batch for each of them has to arrive within ``known_within_ns`` after the fault.
    """
    span = span_of(row)
    if span is None:
        return 0
    first_new = evidence.record.spec.workload.partitions
    began: dict[int, int] = {}
    count = 0
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            for part in frame.produce:
                if part.partition >= first_new:
                    since_ns = began.setdefault(part.partition, frame.t_ns)
                    count += span.begin_ns <= since_ns <= span.end_ns + known_within_ns
    return count


def trimmed(row: FaultRow, evidence: Evidence) -> int:
    """Count the partitions whose log lost batches from before the fault, and none from after it."""
    if fetching.reads(evidence):
        return fetching.trimmed(row, evidence)
    span = span_of(row)
    if span is None:
        return 0
    begins: dict[int, int] = {}
    for record in evidence.log:
        begins[record.partition] = min(begins.get(record.partition, record.offset), record.offset)
    gone: set[int] = set()
    others: set[int] = set()
    for each in connections(evidence).values():
        for exchange in each.exchanges:
            if exchange.answer is None or exchange.request.api != PRODUCE:
                continue
            for part in exchange.answer.produce:
                if part.error_code != 0 or part.base_offset is None or part.base_offset < 0:
                    continue
                is_gone = part.base_offset < begins.get(part.partition, 0)
                if is_gone and exchange.request.t_ns <= span.end_ns:
                    gone.add(part.partition)
                elif is_gone or exchange.answer.t_ns < span.begin_ns:
                    others.add(part.partition)
    return len(gone - others)


def went_on(row: FaultRow, evidence: Evidence) -> int:
    """Count the idempotent producers with batches appended before the fault that went on with the sequence after it."""
    span = span_of(row)
    if span is None:
        return 0
    known: set[tuple[int, int | None, int | None]] = set()
    since: set[tuple[int, int | None, int | None]] = set()
    for each in connections(evidence).values():
        for exchange in each.exchanges:
            if exchange.answer is None or exchange.request.api != PRODUCE:
                continue
            for part in exchange.request.produce:
                producer = (part.partition, part.producer_id, part.producer_epoch)
                if part.producer_id is None or part.producer_id < 0:
                    continue
                if exchange.answer.t_ns < span.begin_ns:
                    known.add(producer)
                elif exchange.request.t_ns > span.begin_ns and part.base_sequence:
                    since.add(producer)
    return len(known & since)
