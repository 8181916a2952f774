"""Splits a batch that is too large for the broker into several smaller ones (PRD-SPL, KIP-126).

The parts are complete batches from the start: they are closed and have the whole's age and failed attempts. With
idempotence they have the sequence numbers that their records had in the whole, so that the following batches stay
valid.
"""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer_batch import ProducerBatch
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder, Record, increment_sequence, read_batches
from harness.wire.records import record_size_bytes as size_of


def split(
    whole: ProducerBatch,
    batch_size: int,
    new_builder: Callable[[int], BatchBuilder],
    make_part: Callable[[BatchBuilder], ProducerBatch],
    now_ms: int,
) -> list[ProducerBatch]:
    """Return the parts of a batch of several records, in order. ``new_builder`` takes the base timestamp in ms."""
    [batch] = read_batches(whole.payload())
    parts: list[ProducerBatch] = []
    done = 0
    for records in _groups(batch.records, _target_bytes(whole, batch.records, batch_size)):
        builder = new_builder(records[0].timestamp_ms)
        for record in records:
            builder.append(record.timestamp_ms, record.key, record.value, record.headers)
        part = make_part(builder)
        _inherit(part, whole, len(parts) + 1, done, now_ms)
        parts.append(part)
        done += len(records)
    whole.was_split(parts, now_ms)
    return parts


def _target_bytes(whole: ProducerBatch, records: tuple[Record, ...], batch_size: int) -> int:
    """Return the maximum size of a part: batch.size, or half of the whole's size if batch.size is not smaller.

    Java always tries batch.size first, which costs one more rejection if batch.size itself is too large.
    """
    size_bytes = min(whole.size_bytes, whole.uncompressed_bytes)
    if batch_size < size_bytes and len(whole.order) == 1:
        return batch_size
    largest = max(size_of(record.key, record.value, record.headers) for record in records)
    return max(largest + BATCH_OVERHEAD_BYTES, size_bytes // 2)


def _groups(records: tuple[Record, ...], target_bytes: int) -> list[list[Record]]:
    """Group adjacent records that fit the target, by their maximum uncompressed size. Return at least two groups."""
    groups: list[list[Record]] = []
    size_bytes = 0
    for record in records:
        record_bytes = size_of(record.key, record.value, record.headers)
        if not groups or size_bytes + record_bytes > target_bytes:
            groups.append([])
            size_bytes = BATCH_OVERHEAD_BYTES
        groups[-1].append(record)
        size_bytes += record_bytes
    if len(groups) == 1:
        middle = len(records) // 2
        return [list(records[:middle]), list(records[middle:])]
    return groups


def _inherit(part: ProducerBatch, whole: ProducerBatch, place: int, records_before: int, now_ms: int) -> None:
    """Copy age, attempts, doubts and sequence numbers from the whole (PRD-SPL-03, -04)."""
    part.order = (*whole.order, place)
    part.name = f"{whole.name}.{place}"
    part.created_ms, part.expires_ms = whole.created_ms, whole.expires_ms
    part.attempts, part.retry_at_ms = whole.attempts, now_ms
    part.has_unknown_attempt = whole.has_unknown_attempt
    part.may_be_stored = part.doubt_is_the_wholes = whole.may_be_stored
    part.sequence_was_reset = whole.sequence_was_reset
    part.close(now_ms, "part")
    part.payload()
    part.goes_again = True
    if whole.has_sequence:
        part.assign_sequence(whole.producer_id, increment_sequence(whole.base_sequence, records_before))
