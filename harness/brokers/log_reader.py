"""The ground truth: every record in the log of a topic, read back as raw batches from the leaders.

The log is read to its end, not to the current high watermark. The reader waits for records that the leader has but that
are still being replicated, so that a record which appears a moment later is never reported as missing.

The content is the client's: a few bytes may claim ten million records, or decompress to gigabytes. Each batch is
therefore charged to the meter before it is decoded, and turned into rows before the next one is decoded.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from harness.brokers.admin import EARLIEST, TIMEOUT_S, Admin
from harness.brokers.connection import NotYet
from harness.brokers.deadline import insist
from harness.limits.meter import STORED_BYTES, STORED_RECORDS, Meter
from harness.model import payload
from harness.model.errors import KafkaTrialError
from harness.model.rows import LogRecord
from harness.wire.errors import TooLarge, WireError
from harness.wire.primitives import Data
from harness.wire.records import (
    MAX_DECOMPRESSED_BYTES,
    NO_SEQUENCE,
    BatchHeader,
    Record,
    RecordBatch,
    control_type,
    increment_sequence,
    read_batches,
    read_headers,
)


async def read_log(
    admin: Admin, topic: str, meter: Meter | None = None, timeout_s: float = TIMEOUT_S
) -> list[LogRecord]:
    """Return all records of all partitions, ordered by partition and offset, including control records.

    Raises KafkaTrialError if a part of the log cannot be read within ``timeout_s`` or is not a sequence of record
    batches, and OverLimit if the log exceeds the limits of ``meter``.
    """
    partitions = await insist(
        f"finding the partitions of {topic!r}", timeout_s, lambda: admin.partitions(topic)
    )
    return [
        row
        for partition in partitions
        for row in await _read_partition(admin, topic, partition, meter, timeout_s)
    ]


async def _read_partition(
    admin: Admin, topic: str, partition: int, meter: Meter | None, timeout_s: float
) -> list[LogRecord]:
    name = f"reading {topic}-{partition}"
    rows: list[LogRecord] = []
    offset = await insist(name, timeout_s, lambda: admin.list_offsets(topic, partition, EARLIEST))

    async def piece() -> _Piece | None:
        end = await admin.log_end(topic, partition)
        if offset == end:
            return None
        if offset > end:
            raise KafkaTrialError(
                "log-shrank",
                "{topic}-{partition} ends at {end} after records up to {offset} were read from it",
                topic=topic,
                partition=partition,
                end=end,
                offset=offset,
            )
        data = await admin.fetch(topic, partition, offset)
        try:
            # Decoding takes time, and the event loop also forwards the frames of other trials.
            read = await asyncio.to_thread(_decoded, topic, partition, data.records or b"", offset, meter)
        except WireError as error:
            raise KafkaTrialError(
                "log-unreadable",
                "the log of {topic}-{partition} cannot be read from offset {offset}: {why}",
                topic=topic,
                partition=partition,
                offset=offset,
                why=error,
            ) from error
        if read.next_offset == offset:
            raise NotYet(
                "not-fully-committed",
                "its high watermark is {high_watermark}, its end {end}",
                high_watermark=data.high_watermark,
                end=end,
            )
        return read

    while (read := await insist(f"{name} from offset {offset}", timeout_s, piece)) is not None:
        rows += read.rows
        offset = read.next_offset
    return rows


class _Piece(NamedTuple):
    """The rows of one response, and the offset at which the next one starts."""

    rows: list[LogRecord]
    next_offset: int


def _decoded(topic: str, partition: int, data: Data, offset: int, meter: Meter | None) -> _Piece:
    """Return the rows of the batches in ``data`` from ``offset`` on. Raises WireError or OverLimit."""
    rows: list[LogRecord] = []
    if meter is not None:
        for header in read_headers(data):
            meter.spend(STORED_RECORDS, max(0, header.record_count))
    most_bytes = MAX_DECOMPRESSED_BYTES if meter is None else meter.left(STORED_BYTES)
    try:
        for batch in read_batches(data, max_decompressed_bytes=most_bytes):
            if meter is not None:
                meter.spend(STORED_BYTES, _size_bytes(batch))
            rows += [row for row in log_records(topic, partition, batch) if row.offset >= offset]
            offset = max(offset, batch.header.last_offset + 1)
    except TooLarge:
        if meter is None:
            raise
        meter.spend(STORED_BYTES, most_bytes + 1)
    return _Piece(rows, offset)


def _size_bytes(batch: RecordBatch) -> int:
    """Return the decompressed size of a batch."""
    return max(
        batch.header.size_bytes,
        sum(len(record.key or b"") + len(record.value or b"") for record in batch.records),
    )


def log_records(topic: str, partition: int, batch: RecordBatch) -> list[LogRecord]:
    """Return the rows of one batch. Bytes that are not UTF-8 are escaped. A control record's key is its type.

    A batch whose CRC does not match becomes one row at its base offset, without content and with ``crc_ok`` False.
    """
    header = batch.header

    def row(record: Record, key: str | None, value: str | None, value_bytes: int | None = None) -> LogRecord:
        return LogRecord(
            topic=topic,
            partition=partition,
            offset=record.offset,
            base_offset=header.base_offset,
            timestamp_ms=record.timestamp_ms,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            sequence=_sequence(header, record.offset),
            control=header.is_control,
            crc_ok=batch.crc_ok,
            key=key,
            value=value,
            batch_crc=header.crc,
            compression=header.compression,
            headers=len(record.headers),
            value_bytes=value_bytes,
        )

    if not batch.crc_ok:
        return [row(Record(header.base_offset, header.max_timestamp_ms, None, None), None, None)]
    if header.is_control:
        return [row(record, control_type(record), None) for record in batch.records]
    return [row(record, _text(record.key), *payload.kept(record.value)) for record in batch.records]


def _sequence(header: BatchHeader, offset: int) -> int:
    if header.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return increment_sequence(header.base_sequence, offset - header.base_offset)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
