"""Records as bytes: zigzag varints and what hangs on them, written.

An integer is folded so that small magnitudes are short (0, -1, 1, -2 are 0, 1, 2, 3), then written seven bits
a byte, the lowest first. A length of -1 is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.wire.errors import WireError

Headers = Sequence[tuple[str, bytes | None]]

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10
#: Java's bound for all of a record but key, value and headers: length, attributes, timestamp and offset delta.
MAX_RECORD_OVERHEAD_BYTES: Final = 21
_INT64: Final = 1 << 64


def int64(value: int) -> int:
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
SHORT: Final = tuple(_write(2 * value) for value in range(1 << 13))
_SHORTS: Final = len(SHORT)
NULL: Final = b"\x01"
#: The same with a record's attributes behind its length, and with a null key before the length of its value.
SHORT_AND_PLAIN: Final = tuple(short + b"\x00" for short in SHORT)
NULL_AND_SHORT: Final = tuple(NULL + short for short in SHORT)
_join: Final = b"".join


def write_varint(value: int) -> bytes:
    """``value`` as a zigzag varint; beyond 64 bits it wraps, as a difference of two timestamps does in Java."""
    if 0 <= value < _SHORTS:
        return SHORT[value]
    value = int64(value)
    return _write((value << 1) ^ (value >> 63))


def read_varint(data: bytes, at: int, max_bytes: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    """A zigzag varint of 32 bits (or 64 with ``max_bytes`` 10), and the place behind it."""
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
        raise WireError(f"a varint at {at} is cut off") from None
    raise WireError(f"the varint at {at} is longer than {max_bytes} bytes")


def write_record(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> bytes:
    """One record, length and all."""
    return _join(record_parts(timestamp_delta_ms, offset_delta, key, value, headers))


def record_parts(
    timestamp_delta_ms: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[bytes, ...]:
    """The same in pieces, key and value among them uncopied. Written out by hand: it is a price per record."""
    if headers or value is None or timestamp_delta_ms < 0 or offset_delta < 0:
        return _any_parts(timestamp_delta_ms, offset_delta, key, value, headers)
    try:
        delta = SHORT[timestamp_delta_ms]
        index = SHORT[offset_delta]
        key_size, key_bytes = (NULL, b"") if key is None else (SHORT[len(key)], key)
        size = len(value)
        value_size = SHORT[size]
        # Two bytes more: the attributes, and the number of headers.
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
    """An upper bound of a record's size in a batch, for ``max.request.size`` and buffers, uncompressed.

    Kafka's ``DefaultRecord.recordSizeUpperBound``; a batch adds BATCH_OVERHEAD_BYTES.
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
