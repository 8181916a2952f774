"""The fast loop for plain records: those with the same layout as the record before them.

The records of a batch nearly always have their integers in the same number of bytes, and no headers. Such a layout has
a :mod:`struct`, which reads all integers before the key in one call, and a table for each integer, from its encoded
form to its value. An integer that is missing in its table has another size, is negative, or is invalid.

The loop stops before the first record that is not plain, without an error. The general loop continues there, and finds
what is wrong if anything is.

::

    headers of the record before, 0 | size | attributes | timestamp delta | offset delta | key size | key |
    value size | value | headers, 0
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from itertools import repeat
from typing import Any, Final, NamedTuple

from harness.wire.records.encoding import SHORT, int64
from harness.wire.source import Source

_LAST_INT64: Final = (1 << 63) - 1
_NULL: Final = 0x01


def _values(width: int) -> tuple[int | None, ...]:
    """Return the values of integers that are encoded in ``width`` bytes, by these bytes as an unsigned integer."""
    values: list[int | None] = [None] * (1 << 8 * width)
    for value, encoded in enumerate(SHORT):
        if len(encoded) == width:
            values[int.from_bytes(encoded, "big")] = value
    return tuple(values)


def _encoded(width: int, shift: int) -> tuple[int | None, ...]:
    """Return the opposite: the bytes of each value, shifted to the left."""
    return tuple(int.from_bytes(each, "big") << shift if len(each) == width else None for each in SHORT)


_VALUES: Final = {width: _values(width) for width in (1, 2)}
#: A record's size follows the headers count of the record before it, which is 0. Struct has no integer of three bytes,
#: so a size of two bytes is read together with the attributes, which are 0 as well.
_SIZES: Final = {1: _encoded(1, 0), 2: _encoded(2, 8)}
_SIZE_FORMAT: Final = {1: "Hx", 2: "I"}
_FORMAT: Final = {1: "B", 2: "H"}
Table = tuple[int | None, ...]
Loop = Callable[..., tuple[int, int]]


class Layout(NamedTuple):
    """How the records are read, as the loops take it."""

    unpack: Callable[..., tuple[int, ...]]
    sizes: Table
    stamps: Table
    offsets: Table
    keys: Table
    values: Table
    head_bytes: (
        int  # from the headers of the record before to the key size, or to the value size without a key
    )
    rest_bytes: int  # what a record's size counts apart from key and value
    unpack_value_size: Callable[..., tuple[int, ...]]
    value_size_bytes: int


@cache
def _layout(size: int, stamp: int, offset: int, key: int, value: int) -> Layout:
    """Return the layout with integers of this many bytes. A ``key`` of 0 bytes is null."""
    head = ">" + _SIZE_FORMAT[size] + _FORMAT[stamp] + _FORMAT[offset]
    head += _FORMAT[key] if key else _FORMAT[1] + _FORMAT[value]
    integers_bytes = stamp + offset + (key or 1) + value
    return Layout(
        struct.Struct(head).unpack_from,
        _SIZES[size],
        _VALUES[stamp],
        _VALUES[offset],
        _VALUES[key] if key else (),
        _VALUES[value],
        struct.calcsize(head),
        integers_bytes + 2,
        struct.Struct(">" + _FORMAT[value]).unpack_from,
        value,
    )


def layout_at(data: bytes, at: int) -> Layout | None:
    """Return the layout of the record at ``at`` if it is plain, or None if it is cut off or has a long key."""
    try:
        size = 1 if data[at] < 0x80 else 2
        at += size + 1  # and the attributes
        stamp = 1 if data[at] < 0x80 else 2
        at += stamp
        offset = 1 if data[at] < 0x80 else 2
        at += offset
        key = 0
        if data[at] == _NULL:
            at += 1
        else:
            key = 1 if data[at] < 0x80 else 2
            key_bytes = _VALUES[key][int.from_bytes(data[at : at + key], "big")]
            if key_bytes is None:
                return None
            at += key + key_bytes
        value = 1 if data[at] < 0x80 else 2
    except IndexError:
        return None
    return _layout(size, stamp, offset, key, value)


def plain_loops(write_made: Callable[[Source], str], *constants: str) -> tuple[Loop, Loop]:
    """Return two loops, for records without and with keys. ``write_made`` and ``constants``: see ``record_loop``.

    They are called as ``loop(data, at, count, into, base_offset, base_timestamp_ms, append_time_ms, *constants,
    *layout)``, where a record without headers ends before ``at``, which is not 0. They append at most ``count`` values
    to the list ``into``, and return the position after the last record and the number of values.
    """
    return _loop(write_made, constants, has_keys=False), _loop(write_made, constants, has_keys=True)


def _loop(write_made: Callable[[Source], str], constants: tuple[str, ...], *, has_keys: bool) -> Any:
    source = Source(int64=int64, last_int64=_LAST_INT64, repeat=repeat, struct_error=struct.error)
    given = ", ".join(("base_offset", "base_timestamp_ms", "append_time_ms", *constants, *Layout._fields))
    with source.block(f"def read_plain(data, at, count, into, {given}):"):
        source.line("at -= 1; stamp = None; headers = (); key = None; key_size = -1")
        source.line("add = into.append; before = len(into)")
        with source.block("try:"), source.block("for _ in repeat(None, count):"):
            (_write_keyed if has_keys else _write_unkeyed)(source)
            source.line(f"add({write_made(source)})")
            source.line("previous = at; at = stop")  # not before the value was made, which needs all integers
        # Bytes that are missing, and integers that are not in their tables.
        with source.block("except (struct_error, TypeError, IndexError):"):
            source.line("pass")
        source.line("done = len(into) - before")
        # The headers of the last record, and whether it was whole.
        with source.block("if done and (at >= len(data) or data[at]):"):
            source.line("into.pop(); done -= 1; at = previous")
        source.line("return at + 1, done")
    return source.compiled("read_plain")


def _write_unkeyed(source: Source) -> None:
    source.line("size, new_stamp, index, null, value_size = unpack(data, at)")
    source.line("value_size = values[value_size]")
    with source.block(f"if null != {_NULL} or size != sizes[value_size + rest_bytes]:"):
        source.line("break")
    _write_numbers(source)
    source.line("begin = at + head_bytes; stop = begin + value_size; value = data[begin:stop]")


def _write_keyed(source: Source) -> None:
    source.line("size, new_stamp, index, key_size = unpack(data, at)")
    source.line("key_size = keys[key_size]; begin = at + head_bytes; end = begin + key_size")
    source.line("value_size, = unpack_value_size(data, end)")
    source.line("value_size = values[value_size]")
    with source.block("if size != sizes[key_size + value_size + rest_bytes]:"):
        source.line("break")
    _write_numbers(source)
    source.line("key = data[begin:end]; end += value_size_bytes")
    source.line("stop = end + value_size; value = data[end:stop]")


def _write_numbers(source: Source) -> None:
    """Write the code for timestamp and offset. Records of the same time are frequent."""
    source.line("index = offsets[index]")
    with source.block("if new_stamp != stamp:"):
        # The delta must be valid, even if the broker's time replaces it.
        source.line("timestamp_ms = base_timestamp_ms + stamps[new_stamp]")
        with source.block("if append_time_ms is not None:"):
            source.line("timestamp_ms = append_time_ms")
        with source.block("elif not -last_int64 <= timestamp_ms <= last_int64:"):
            source.line("timestamp_ms = int64(timestamp_ms)")
        source.line("stamp = new_stamp")
