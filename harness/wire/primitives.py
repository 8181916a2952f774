"""The building blocks of flexible versions (KIP-482): unsigned varints and tagged fields.

A function takes the data and a position, and returns the value and the position after it. The lengths in flexible
versions are unsigned varints of the length plus one, so that 0 means null.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from harness.wire.errors import WireError

#: The types that messages are read from. A message's bytes are slices of the same type: a view avoids the copy.
Data = bytes | bytearray | memoryview
#: Returns the value, the position after it, and the number of elements in all its arrays. A WireError has that number
#: too: elements cost time even if the message turns out to be invalid.
Reader = Callable[[Data, int], tuple[Any, int, int]]

MAX_UVARINT_BYTES: Final = 5


def read_uvarint(data: Data, at: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits: seven bits per byte, the lowest first."""
    try:
        first = data[at]
        if first < 0x80:
            return first, at + 1
        second = data[at + 1]
        if second < 0x80:
            return first & 0x7F | second << 7, at + 2
        return _read_long_uvarint(data, at)
    except IndexError:
        raise WireError("varint-cut-off", "a varint at {at} is cut off", at=at) from None


def _read_long_uvarint(data: Data, at: int) -> tuple[int, int]:
    value = 0
    for index in range(MAX_UVARINT_BYTES):
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >= 1 << 32:
                break
            return value, at + index + 1
    raise WireError("varint-range", "the varint at {at} does not fit 32 bits", at=at)


def write_uvarint(value: int) -> bytes:
    """Encode ``value`` (not negative) as an unsigned varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_tags(data: Data, at: int, wanted: Collection[int] = ()) -> tuple[dict[int, tuple[int, int]], int]:
    """Read the tagged fields at the end of a flexible structure.

    Return the ``wanted`` fields as {tag: (begin, end)}, and the position after all of them. An unknown tag is skipped
    by its size, as the protocol requires (KIP-482). It uses no memory, since one frame can contain millions of them.
    """
    count, at = read_uvarint(data, at)
    tags = {}
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if at + size > len(data):
            raise WireError(
                "tagged-field-cut-off",
                "the tagged field {tag} claims {size} bytes, {left} are left",
                tag=tag,
                size=size,
                left=len(data) - at,
            )
        if tag in wanted:
            tags[tag] = at, at + size
        at += size
    return tags, at


def skip_tags(data: Data, at: int) -> int:
    """Return the position after the tagged fields at ``at``, all of which are skipped. Nearly always there are none."""
    if data[at : at + 1] == b"\0":
        return at + 1
    return read_tags(data, at)[1]
