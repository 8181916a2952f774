"""Records as bytes: zigzag varints and what hangs on them. The one hot loop of the package is here.

An integer is folded so that small magnitudes are short (0, -1, 1, -2 are 0, 1, 2, 3), then written seven bits
a byte, the lowest first. A length of -1 is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.wire.errors import WireError
from harness.wire.records.model import BatchHeader, Record

Headers = Sequence[tuple[str, bytes | None]]

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10
#: Java's bound for all of a record but key, value and headers: length, attributes, timestamp and offset delta.
MAX_RECORD_OVERHEAD_BYTES: Final = 21
_INT64: Final = 1 << 64


def _int64(value: int) -> int:
    """``value`` wrapped into 64 bits, as Java's long arithmetic does."""
    return (value + (1 << 63)) % _INT64 - (1 << 63)


def _write(folded: int) -> bytes:
    out = bytearray()
    while folded >= 0x80:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    out.append(folded)
    return bytes(out)


#: The short ones ready made, by value: nearly every length and delta of nearly every record.
_SHORT: Final = tuple(_write(2 * value) for value in range(1 << 13))
_SHORTS: Final = len(_SHORT)
#: And by byte, to be read.
_UNFOLDED: Final = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))
_NULL: Final = b"\x01"
_NO_HEADERS: Final = b"\x00"


def write_varint(value: int) -> bytes:
    """``value`` as a zigzag varint; beyond 64 bits it wraps, as a difference of two timestamps does in Java."""
    if 0 <= value < _SHORTS:
        return _SHORT[value]
    value = _int64(value)
    return _write((value << 1) ^ (value >> 63))


def read_varint(data: bytes, at: int, max_bytes: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    """A zigzag varint of 32 bits (or 64 with ``max_bytes`` 10), and the place behind it."""
    if at < len(data) and (byte := data[at]) < 0x80:
        return _UNFOLDED[byte], at + 1
    folded = shift = 0
    for index in range(at, at + max_bytes):
        try:
            byte = data[index]
        except IndexError:
            raise WireError(f"a varint at {at} is cut off") from None
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            folded %= 1 << (64 if max_bytes == MAX_VARLONG_BYTES else 32)
            return (folded >> 1) ^ -(folded & 1), index + 1
        shift += 7
    raise WireError(f"the varint at {at} is longer than {max_bytes} bytes")


def write_record(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> bytes:
    """One record, length and all. Written out by hand: a producer's price per record is this function."""
    delta = (
        _SHORT[timestamp_delta_ms] if 0 <= timestamp_delta_ms < _SHORTS else write_varint(timestamp_delta_ms)
    )
    index = _SHORT[offset_delta] if 0 <= offset_delta < _SHORTS else write_varint(offset_delta)
    if key is None:
        key = _NULL
    else:
        size = len(key)
        key = (_SHORT[size] if size < _SHORTS else write_varint(size)) + key
    if value is None:
        value = _NULL
    else:
        size = len(value)
        value = (_SHORT[size] if size < _SHORTS else write_varint(size)) + value
    body = b"\x00" + delta + index + key + value + (_write_headers(headers) if headers else _NO_HEADERS)
    size = len(body)
    return (_SHORT[size] if size < _SHORTS else write_varint(size)) + body


def _write_headers(headers: Headers) -> bytes:
    parts = [write_varint(len(headers))]
    for name, content in headers:
        raw = name.encode()
        parts += (write_varint(len(raw)), raw)
        parts += (_NULL,) if content is None else (write_varint(len(content)), content)
    return b"".join(parts)


def record_size_bytes(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """An upper bound of a record's size in a batch, for ``max.request.size`` and buffers, uncompressed.

    Kafka's ``DefaultRecord.recordSizeUpperBound``; a batch adds BATCH_OVERHEAD_BYTES.
    """
    size = MAX_RECORD_OVERHEAD_BYTES + _size_of(key) + _size_of(value) + len(write_varint(len(headers)))
    for name, content in headers:
        size += _size_of(name.encode()) + _size_of(content)
    return size


def _size_of(content: bytes | None) -> int:
    return 1 if content is None else len(write_varint(len(content))) + len(content)


def read_records(data: bytes, header: BatchHeader) -> tuple[Record, ...]:
    """All records of a batch from its decompressed records. Raises :class:`WireError`."""
    if header.record_count < 0:
        raise WireError(f"the batch at offset {header.base_offset} claims {header.record_count} records")
    append_time_ms = header.max_timestamp_ms if header.timestamp_type == "LogAppendTime" else None
    records = []
    at = 0
    for _ in range(header.record_count):
        length, at = read_varint(data, at)
        end = at + length
        if length < 0 or end > len(data):
            raise WireError(f"a record claims {length} bytes, {len(data) - at} are left")
        # One byte of attributes that mean nothing yet; Kafka skips them as well.
        timestamp_delta, at = read_varint(data, at + 1, MAX_VARLONG_BYTES)
        offset_delta, at = read_varint(data, at)
        key, at = _read_bytes(data, at)
        value, at = _read_bytes(data, at)
        headers, at = _read_headers(data, at)
        if at != end:
            raise WireError(f"a record of {length} bytes ends {abs(end - at)} bytes off its end")
        timestamp_ms = append_time_ms
        if timestamp_ms is None:
            timestamp_ms = _int64(header.base_timestamp_ms + timestamp_delta)
        records.append(Record(header.base_offset + offset_delta, timestamp_ms, key, value, headers))
    if at != len(data):
        raise WireError(
            f"{len(data) - at} bytes are left over behind the {header.record_count} records "
            f"of the batch at offset {header.base_offset}"
        )
    return tuple(records)


def _read_headers(data: bytes, at: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = read_varint(data, at)
    if count == 0:
        return (), at
    # A header takes two bytes at least: the claim is bounded by what has really come.
    if count < 0 or count > (len(data) - at) // 2:
        raise WireError(f"a record claims {count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(data, at)
        if name is None:
            raise WireError("a record header has no name")
        content, at = _read_bytes(data, at)
        # As Java reads it: a name that is not UTF-8 must not make the record unreadable.
        headers.append((name.decode(errors="replace"), content))
    return tuple(headers), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        if length == -1:
            return None, at
        raise WireError(f"the length {length} before {at} is negative")
    end = at + length
    if end > len(data):
        raise WireError(f"{length} bytes should follow at {at}, there are {len(data) - at}")
    return data[at:end], end
