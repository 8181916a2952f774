"""Encode records as bytes: zigzag varints and everything built on them.

An integer is zigzag-encoded so that small magnitudes are short (0, -1, 1, -2 become 0, 1, 2, 3), and then written with
seven bits per byte, the lowest first. A length of -1 means null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.wire.errors import WireError

Headers = Sequence[tuple[str, bytes | None]]

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10
#: Java's bound for a record without key, value and headers: length, attributes, timestamp and offset delta.
MAX_RECORD_OVERHEAD_BYTES: Final = 21
_INT64: Final = 1 << 64


def int64(value: int) -> int:
    """Wrap ``value`` to 64 bits, as Java's long arithmetic does."""
    return (value + (1 << 63)) % _INT64 - (1 << 63)


def _write(folded: int) -> bytes:
    out = bytearray()
    while folded >= 0x80:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    out.append(folded)
    return bytes(out)


#: Precomputed short varints by value. They cover nearly every length and delta of nearly every record.
SHORT: Final = tuple(_write(2 * value) for value in range(1 << 13))
_SHORTS: Final = len(SHORT)
NULL: Final = b"\x01"
#: The same, followed by a record's attributes byte; and the same, preceded by a null key.
SHORT_AND_PLAIN: Final = tuple(short + b"\x00" for short in SHORT)
NULL_AND_SHORT: Final = tuple(NULL + short for short in SHORT)
_join: Final = b"".join


def write_varint(value: int) -> bytes:
    """Encode ``value`` as a zigzag varint. Beyond 64 bits it wraps, as a difference of two timestamps does in Java."""
    if 0 <= value < _SHORTS:
        return SHORT[value]
    value = int64(value)
    return _write((value << 1) ^ (value >> 63))


def read_varint(data: bytes, at: int, max_bytes: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits (64 bits if ``max_bytes`` is 10). Return it and the position after it."""
    folded = shift = 0
    try:
        for index in range(at, at + max_bytes):
            byte = data[index]
            folded |= (byte & 0x7F) << shift
            if byte < 0x80:
                folded %= 1 << (64 if max_bytes == MAX_VARLONG_BYTES else 32)
                return (folded >> 1) ^ -(folded & 1), index + 1
            shift += 7
    except IndexError:
        raise varint_cut_off(at) from None
    raise WireError(
        "varint-range", "the varint at {at} is longer than {max_bytes} bytes", at=at, max_bytes=max_bytes
    )


def varint_cut_off(at: int) -> WireError:
    """Return the error for data that ends within a varint."""
    return WireError("varint-cut-off", "a varint at {at} is cut off", at=at)


def write_record(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> bytes:
    """Encode one record, including its length."""
    return _join(record_parts(timestamp_delta_ms, offset_delta, key, value, headers))


def record_parts(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[bytes, ...]:
    """Encode one record as pieces, with key and value uncopied.

    The common case is inlined, because the cost occurs once per record.
    """
    if headers or value is None or timestamp_delta_ms < 0 or offset_delta < 0:
        return _any_parts(timestamp_delta_ms, offset_delta, key, value, headers)
    try:
        delta = SHORT[timestamp_delta_ms]
        index = SHORT[offset_delta]
        key_size, key_bytes = (NULL, b"") if key is None else (SHORT[len(key)], key)
        size = len(value)
        value_size = SHORT[size]
        # Plus two bytes: the attributes, and the number of headers.
        length = size + len(delta) + len(index) + len(key_size) + len(key_bytes) + len(value_size) + 2
        return (SHORT_AND_PLAIN[length], delta, index, key_size, key_bytes, value_size, value, b"\0")
    except IndexError:
        return _any_parts(timestamp_delta_ms, offset_delta, key, value, headers)


def _any_parts(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[bytes, ...]:
    parts = [b"\x00", write_varint(timestamp_delta_ms), write_varint(offset_delta)]
    for content in (key, value):
        parts += (NULL,) if content is None else (write_varint(len(content)), content)
    parts.append(_write_headers(headers))
    return (write_varint(sum(map(len, parts))), *parts)


def _write_headers(headers: Headers) -> bytes:
    parts = [write_varint(len(headers))]
    for name, content in headers:
        raw = name.encode()
        parts += (write_varint(len(raw)), raw)
        parts += (NULL,) if content is None else (write_varint(len(content)), content)
    return b"".join(parts)


def record_size_bytes(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """Return an upper bound of a record's uncompressed size, for ``max.request.size`` and buffer limits.

    This is Kafka's ``DefaultRecord.recordSizeUpperBound``. A batch adds BATCH_OVERHEAD_BYTES.
    """
    size = MAX_RECORD_OVERHEAD_BYTES + _size_of(key) + _size_of(value)
    if not headers:
        return size + 1
    size += len(write_varint(len(headers)))
    for name, content in headers:
        size += _size_of(name.encode()) + _size_of(content)
    return size


def _size_of(content: bytes | None) -> int:
    if content is None:
        return 1
    size = len(content)
    return size + (len(SHORT[size]) if size < _SHORTS else len(write_varint(size)))
