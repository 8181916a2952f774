"""What a broker checks in a batch before it asks who sent it.

``ProduceRequest#validateRecords``, what the log analyses, and ``LogValidator``, in that order; the first thing wrong
decides the error code. A header's greatest timestamp is believed: records are read one by one only where one of them
could be refused.
"""

from __future__ import annotations

from typing import Final

from crc32c import crc32c
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import Refused
from harness.brokers.scripted.topic_config import FOREVER_MS, TopicConfig
from harness.wire.errors import WireError
from harness.wire.makers import filler
from harness.wire.records import MAX_DECOMPRESSED_BYTES, NO_PRODUCER_ID, BatchHeader, Codec, Record
from harness.wire.records.codecs import decompress
from harness.wire.records.decoding import read_records
from harness.wire.records.encoding import read_varint
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    CODEC_MASK,
    CRC_AT,
    CRC_COVERS_FROM,
    HEADER,
    LENGTH_EXCLUDES_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
)

#: The least that the length field may say; a smaller one is corrupt in every format of Kafka's.
_SMALLEST_LENGTH: Final = 14
_ZSTD_FROM_VERSION: Final = 7
_NO_TIMESTAMP: Final = -1
_make_header: Final = filler(BatchHeader)


def only_batch(data: bytes | None, version: int) -> bytes:
    """The one batch of a partition, as a Produce request of ``version`` may carry it. Raises Refused.

    Bytes behind the last whole batch are left out, as they are by Kafka's reader.
    """
    size_bytes = _next_batch(data, 0) if data else 0
    if data is None or not size_bytes:
        raise Refused(ErrorCode.invalid_record)
    if data[CRC_AT - 1] != MAGIC:
        raise Refused(ErrorCode.invalid_record)
    if version < _ZSTD_FROM_VERSION and data[CRC_COVERS_FROM + 1] & CODEC_MASK == Codec.ZSTD:
        raise Refused(ErrorCode.unsupported_compression_type)
    if size_bytes == len(data):
        return data
    if _next_batch(data, size_bytes):
        raise Refused(ErrorCode.invalid_record)
    return data[:size_bytes]


def _next_batch(data: bytes, at: int) -> int:
    """The size of the batch at ``at``, 0 where no whole batch is left."""
    if len(data) - at < CRC_AT:
        return 0
    length = int.from_bytes(data[at + 8 : at + LENGTH_EXCLUDES_BYTES], "big", signed=True)
    if length < _SMALLEST_LENGTH or data[at + CRC_AT - 1] > MAGIC:
        raise Refused(ErrorCode.corrupt_message)
    size_bytes = LENGTH_EXCLUDES_BYTES + length
    return size_bytes if size_bytes <= len(data) - at else 0


def validate(data: bytes, config: TopicConfig, now_ms: int) -> BatchHeader:
    """The header of one whole batch of format 2 that may be appended to a topic. Raises Refused."""
    if data[:8] != b"\0\0\0\0\0\0\0\0":
        raise Refused(ErrorCode.invalid_record)
    if len(data) > config.max_message_bytes:
        raise Refused(ErrorCode.message_too_large)
    if len(data) < BATCH_OVERHEAD_BYTES:
        raise Refused(ErrorCode.corrupt_message)
    header: BatchHeader = _make_header(*HEADER.unpack_from(data))
    if crc32c(memoryview(data)[CRC_COVERS_FROM:]) != header.crc:
        raise Refused(ErrorCode.corrupt_message)
    count = header.record_count
    if count <= 0 or header.last_offset_delta + 1 != count or header.is_control:
        raise Refused(ErrorCode.invalid_record)
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        raise Refused(ErrorCode.invalid_record)
    plain = _plain(data, header)
    if not _are_records(plain, count):
        raise Refused(ErrorCode.invalid_record)
    if config.compacted or header.attributes & LOG_APPEND_TIME or _may_be_untimely(header, config, now_ms):
        _check_records(plain, header, config, now_ms)
    if len(data) > config.segment_bytes:
        raise Refused(ErrorCode.record_list_too_large)
    return header


def read_stored(data: bytes, header: BatchHeader) -> tuple[Record, ...]:
    """The records of a batch that was validated, with ``header``'s offsets. WireError for nonsense in one of them."""
    return read_records(decompress(header.codec, data[BATCH_OVERHEAD_BYTES:], MAX_DECOMPRESSED_BYTES), header)


def _plain(data: bytes, header: BatchHeader) -> bytes:
    section = data[BATCH_OVERHEAD_BYTES:]
    if not header.attributes & CODEC_MASK:
        return section
    try:
        return decompress(header.codec, section, MAX_DECOMPRESSED_BYTES)
    except WireError:
        # Kafka's decompressors raise no exception of the protocol's.
        raise Refused(ErrorCode.unknown_server_error) from None


def _are_records(plain: bytes, count: int) -> bool:
    """Whether the bytes are that many records, one behind the other; what is in them is not looked at."""
    at, size = 0, len(plain)
    try:
        for _ in range(count):
            folded = plain[at]
            at += 1
            if folded >= 0x80:
                # Two bytes are written out here: nearly every record has a length of one or two.
                second = plain[at]
                if second < 0x80 and not folded & 1:
                    length = (folded & 0x7F | second << 7) >> 1
                    at += 1
                else:
                    length, at = read_varint(plain, at - 1)
            elif folded & 1:
                return False
            else:
                length = folded >> 1
            at += length
            if length < 0 or at > size:
                return False
    except (IndexError, WireError):
        return False
    return at == size


def _may_be_untimely(header: BatchHeader, config: TopicConfig, now_ms: int) -> bool:
    if config.log_append_time:
        return False
    is_late = header.max_timestamp_ms - now_ms > config.timestamp_after_max_ms
    return is_late or config.timestamp_before_max_ms < FOREVER_MS


def _check_records(plain: bytes, header: BatchHeader, config: TopicConfig, now_ms: int) -> None:
    try:
        records = read_records(plain, header)
    except WireError:
        raise Refused(ErrorCode.invalid_record) from None
    errors: list[tuple[int, str]] = []
    code = ErrorCode.invalid_record
    for index, record in enumerate(records):
        if config.compacted and record.key is None:
            errors.append((index, "a compacted topic takes no record without a key"))
        elif why := _untimely(record, header, config, now_ms):
            errors.append((index, why))
            code = ErrorCode.invalid_timestamp
    if errors:
        raise Refused(code, f"{len(errors)} records were rejected", tuple(errors))


def _untimely(record: Record, header: BatchHeader, config: TopicConfig, now_ms: int) -> str | None:
    if not config.log_append_time and record.timestamp_ms != _NO_TIMESTAMP:
        age_ms = now_ms - record.timestamp_ms
        if age_ms > config.timestamp_before_max_ms or -age_ms > config.timestamp_after_max_ms:
            return f"timestamp {record.timestamp_ms} is out of range at {now_ms}"
    if header.attributes & LOG_APPEND_TIME:
        return "a producer does not set LogAppendTime"
    return None
