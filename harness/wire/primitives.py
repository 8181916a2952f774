"""Kafka's primitive types: how each is read.

A reader takes the data and a place in it, and gives the value and the place behind it. All integers are
big-endian; the *flexible* versions (KIP-482) write lengths as unsigned varints, plus one, so that 0 is null.
Every length is held against the bytes that are really there before anything is done with it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from harness.wire.errors import WireError

Reader = Callable[[bytes, int], tuple[Any, int]]

MAX_UVARINT_BYTES: Final = 5


def fixed(layout: str) -> Callable[[bytes, int], tuple[Any, int]]:
    """The reader of one value of a :mod:`struct` layout, e.g. ``">i"``."""
    codec = struct.Struct(layout)
    unpack, size = codec.unpack_from, codec.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        try:
            return unpack(data, at)[0], at + size
        except struct.error:
            raise WireError(f"{size} bytes should follow at {at}, there are {len(data) - at}") from None

    return read


read_bool: Final = fixed(">?")
read_int8: Final = fixed(">b")
read_int16: Final = fixed(">h")
read_uint16: Final = fixed(">H")
read_int32: Final = fixed(">i")
read_int64: Final = fixed(">q")
read_float64: Final = fixed(">d")


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits: seven bits a byte, the lowest first."""
    value = 0
    for index in range(MAX_UVARINT_BYTES):
        if at + index >= len(data):
            raise WireError(f"a varint at {at} is cut off")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >= 1 << 32:
                break
            return value, at + index + 1
    raise WireError(f"the varint at {at} does not fit 32 bits")


def write_uvarint(value: int) -> bytes:
    """``value`` (not negative) as an unsigned varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    """The next ``length`` bytes."""
    end = at + length
    if end > len(data):
        raise WireError(f"{length} bytes should follow at {at}, there are {len(data) - at}")
    return data[at:end], end


def read_length(data: bytes, at: int, *, flexible: bool, legacy: Reader) -> tuple[int, int]:
    """The length of a string, of bytes or of an array; -1 is null. ``legacy`` reads it in old versions."""
    if flexible:
        length, at = read_uvarint(data, at)
        return length - 1, at
    length, at = legacy(data, at)
    if length < -1:
        raise WireError(f"the length {length} at {at} is negative")
    return length, at


def read_tags(data: bytes, at: int) -> tuple[list[tuple[int, int, int]], int]:
    """The tagged fields that end a flexible structure, as (tag, begin, end), and the place behind them.

    A tag that the reader does not know is to be skipped (KIP-482): hence the sizes.
    """
    count, at = read_uvarint(data, at)
    tags = []
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if at + size > len(data):
            raise WireError(f"the tagged field {tag} claims {size} bytes, {len(data) - at} are left")
        tags.append((tag, at, at + size))
        at += size
    return tags, at
