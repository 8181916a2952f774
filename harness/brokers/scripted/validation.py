"""A broker's checks of a batch, before those of the producer's state.

They follow ``ProduceRequest#validateRecords``, the log's analysis, and ``LogValidator``, in that order. The first
violation determines the error code. Every record is scanned (:mod:`.record_scan`). They are decoded one by one only if
a record may be rejected.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from crc32c import crc32c
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.record_scan import Found, Scan, Unscanned, scan
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.topic_config import TopicConfig
from harness.text.counting import some
from harness.wire.errors import WireError
from harness.wire.makers import filler
from harness.wire.records import MAX_DECOMPRESSED_BYTES, NO_PRODUCER_ID, BatchHeader, Codec, Record
from harness.wire.records.codecs import decompress
from harness.wire.records.decoding import read_records
from harness.wire.records.encoding import int64
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    CODEC_MASK,
    CONTROL,
    CRC_AT,
    CRC_COVERS_FROM,
    HEADER,
    LENGTH_EXCLUDES_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
)

#: The minimum of the length field. A smaller value is corrupt in every format.
_SMALLEST_LENGTH: Final = 14
_ZSTD_FROM_VERSION: Final = 7
_NO_TIMESTAMP: Final = -1
_NO_OFFSET: Final = bytes(8)
_make_header: Final = filler(BatchHeader)


class Valid(NamedTuple):
    """A batch that may be appended: its header, its maximum timestamp, and its records."""

    header: BatchHeader
    newest_ms: int
    records: list[Found]


def only_batch(data: bytes | None, size_bytes: int, version: int) -> bytes:
    """Return the only batch of a partition that a Produce request of ``version`` may contain. Raises Refused.

    ``size_bytes`` is the result of :func:`first_batch_bytes`. Bytes after the last whole batch are ignored, as by
    Kafka's reader.
    """
    if data is None or not size_bytes:
        raise RequestRefused(ErrorCode.invalid_record)
    if data[CRC_AT - 1] != MAGIC:
        raise RequestRefused(ErrorCode.invalid_record)
    if version < _ZSTD_FROM_VERSION and data[CRC_COVERS_FROM + 1] & CODEC_MASK == Codec.ZSTD:
        raise RequestRefused(ErrorCode.unsupported_compression_type)
    if size_bytes == len(data):
        return data
    if _next_batch(data, size_bytes):
        raise RequestRefused(ErrorCode.invalid_record)
    return data[:size_bytes]


def first_batch_bytes(data: bytes | None) -> int:
    """Return the size of a partition's first batch, 0 if none is complete. Raises Refused if it is malformed."""
    return _next_batch(data, 0) if data else 0


def _next_batch(data: bytes, at: int) -> int:
    """Return the size of the batch at ``at``, or 0 if no whole batch is left."""
    left = len(data) - at
    if left < LENGTH_EXCLUDES_BYTES:
        return 0
    length = int.from_bytes(data[at + 8 : at + LENGTH_EXCLUDES_BYTES], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        raise RequestRefused(ErrorCode.corrupt_message)
    if left < CRC_AT:
        return 0
    if data[at + CRC_AT - 1] > MAGIC:
        raise RequestRefused(ErrorCode.corrupt_message)
    size_bytes = LENGTH_EXCLUDES_BYTES + length
    return size_bytes if size_bytes <= left else 0


def validate(data: bytes, config: TopicConfig, now_ms: int) -> Valid:
    """Validate one whole batch of format 2 for a topic. Raises Refused.

    The returned maximum timestamp may differ from the one that the header claims.
    """
    if data[:8] != _NO_OFFSET:
        raise RequestRefused(ErrorCode.invalid_record)
    if len(data) > config.max_message_bytes:
        raise RequestRefused(ErrorCode.message_too_large)
    if len(data) < BATCH_OVERHEAD_BYTES:
        raise RequestRefused(ErrorCode.corrupt_message)
    header: BatchHeader = _make_header(*HEADER.unpack_from(data))
    if crc32c(memoryview(data)[CRC_COVERS_FROM:]) != header.crc:
        raise RequestRefused(ErrorCode.corrupt_message)
    count, attributes = header.record_count, header.attributes
    if count <= 0 or header.last_offset_delta + 1 != count or attributes & CONTROL:
        raise RequestRefused(ErrorCode.invalid_record)
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        raise RequestRefused(ErrorCode.invalid_record)
    plain = _plain(data, header)
    found = scan(plain, count)
    if not isinstance(found, Scan):
        # Java's exception for a length of more than five bytes is not caught unless a decompressing stream wraps it.
        is_lost = found is Unscanned.LENGTH and not attributes & CODEC_MASK
        raise RequestRefused(ErrorCode.unknown_server_error if is_lost else ErrorCode.invalid_record)
    newest_ms = int64(header.base_timestamp_ms + found.greatest_delta_ms)
    if _may_be_refused(found, newest_ms, header, config, now_ms):
        _check_records(plain, header, config, now_ms)
    if attributes & CODEC_MASK and not found.offsets_count:
        # A broker would rebuild such a batch, from records whose keys and values it has skipped.
        raise RequestRefused(ErrorCode.unknown_server_error)
    if len(data) > config.segment_bytes:
        raise RequestRefused(ErrorCode.record_list_too_large)
    if attributes & LOG_APPEND_TIME:
        return Valid(header, header.max_timestamp_ms, found.records)
    return Valid(header, newest_ms if newest_ms > _NO_TIMESTAMP else _NO_TIMESTAMP, found.records)


def _plain(data: bytes, header: BatchHeader) -> bytes:
    section = data[BATCH_OVERHEAD_BYTES:]
    if not header.attributes & CODEC_MASK:
        return section
    try:
        return decompress(header.codec, section, MAX_DECOMPRESSED_BYTES)
    except WireError:
        # Kafka's decompressors raise exceptions that do not map to a protocol error.
        raise RequestRefused(ErrorCode.unknown_server_error) from None


def _may_be_refused(
    found: Scan, newest_ms: int, header: BatchHeader, config: TopicConfig, now_ms: int
) -> bool:
    """Return whether a record may be rejected, so that the records must be read one by one."""
    if (config.compacted and not found.all_have_keys) or header.attributes & LOG_APPEND_TIME:
        return True
    if config.log_append_time:
        return False
    oldest_ms = int64(header.base_timestamp_ms + found.least_delta_ms)
    return (
        newest_ms - now_ms > config.timestamp_after_max_ms
        or now_ms - oldest_ms > config.timestamp_before_max_ms
    )


def _check_records(plain: bytes, header: BatchHeader, config: TopicConfig, now_ms: int) -> None:
    try:
        records = read_records(plain, header)
    except WireError:
        raise RequestRefused(ErrorCode.invalid_record) from None
    errors: list[tuple[int, str]] = []
    code = ErrorCode.invalid_record
    for index, record in enumerate(records):
        if config.compacted and record.key is None:
            errors.append((index, "a compacted topic does not accept a record without a key"))
        elif why := _untimely(record, header, config, now_ms):
            errors.append((index, why))
            code = ErrorCode.invalid_timestamp
    if errors:
        raise RequestRefused(code, f"{some(len(errors), 'record')} rejected", tuple(errors))


def _untimely(record: Record, header: BatchHeader, config: TopicConfig, now_ms: int) -> str | None:
    if not config.log_append_time and record.timestamp_ms != _NO_TIMESTAMP:
        age_ms = now_ms - record.timestamp_ms
        if age_ms > config.timestamp_before_max_ms or -age_ms > config.timestamp_after_max_ms:
            return f"timestamp {record.timestamp_ms} is out of range at {now_ms}"
    elif header.attributes & LOG_APPEND_TIME:
        return "a producer does not set LogAppendTime"
    return None
