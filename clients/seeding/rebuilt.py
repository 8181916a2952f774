"""Rebuilds a finished batch from changed records, for mutants that change what they send again."""

from __future__ import annotations

from collections.abc import Callable

from harness.wire.records import BatchBuilder, Record, read_batches


def rebuilt(payload: bytes, change: Callable[[list[Record]], list[Record]]) -> bytes:
    """Return the batch with changed records and a valid checksum. Nothing else changes."""
    [batch] = read_batches(payload)
    header = batch.header
    builder = BatchBuilder(header.codec, header.base_timestamp_ms)
    for record in change(list(batch.records)):
        builder.append(record.timestamp_ms, record.key, record.value, record.headers)
    return builder.build(header.producer_id, header.producer_epoch, header.base_sequence)
