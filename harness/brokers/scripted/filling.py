"""Batches that the harness itself puts into a log, and compaction: what no producer sends over the scripted brokers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from crc32c import crc32c

from harness.brokers.scripted.record_scan import Found, Scan, scan
from harness.model.errors import UsageError
from harness.wire.makers import filler
from harness.wire.records import MAX_DECOMPRESSED_BYTES, BatchHeader, Codec, Record, read_batches
from harness.wire.records.codecs import compress, decompress
from harness.wire.records.encoding import write_record
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    CRC_AT,
    CRC_COVERS_FROM,
    HEADER,
    LENGTH_EXCLUDES_BYTES,
)

_make_header: Final = filler(BatchHeader)


class Read(NamedTuple):
    """A batch's header and its records."""

    header: BatchHeader
    records: list[Found]


def read_batch(data: bytes) -> Read:
    """Return the header and the records of one whole batch. Raises UsageError if it is not one."""
    if len(data) >= BATCH_OVERHEAD_BYTES:
        header: BatchHeader = _make_header(*HEADER.unpack_from(data))
        section = data[BATCH_OVERHEAD_BYTES:]
        plain = decompress(header.codec, section, MAX_DECOMPRESSED_BYTES) if header.codec else section
        found = scan(plain, header.record_count)
        if header.size_bytes == len(data) and isinstance(found, Scan):
            return Read(header, found.records)
    raise UsageError("not-a-batch-to-store", "a batch to store has to be one whole batch of format 2")


def without(data: bytes, offsets: Collection[int]) -> bytes | None:
    """Return a stored batch without the records at ``offsets``, as log compaction rewrites it.

    Offsets, sequences and the transaction of the batch stay. None if no record remains.
    """
    (batch,) = read_batches(data)
    kept = [record for record in batch.records if record.offset not in offsets]
    if len(kept) == len(batch.records):
        return data
    return _written(batch.header, kept) if kept else None


def _written(header: BatchHeader, records: Collection[Record]) -> bytes:
    base_ms, base_offset = header.base_timestamp_ms, header.base_offset
    payload = b"".join(
        write_record(
            each.timestamp_ms - base_ms, each.offset - base_offset, each.key, each.value, each.headers
        )
        for each in records
    )
    if header.codec is not Codec.NONE:
        payload = compress(header.codec, payload, None)
    changed = replace(
        header,
        length=BATCH_OVERHEAD_BYTES - LENGTH_EXCLUDES_BYTES + len(payload),
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        record_count=len(records),
    )
    fields = [getattr(changed, name) for name in BatchHeader.__slots__]
    data = bytearray(HEADER.pack(*fields) + payload)
    data[CRC_AT:CRC_COVERS_FROM] = crc32c(bytes(data[CRC_COVERS_FROM:])).to_bytes(4, "big")
    return bytes(data)
