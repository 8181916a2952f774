"""Decode records from bytes: the hot loops of the package.

The general loop reads any record, and knows what is wrong with an invalid one. Most integers of a record take one or
two bytes. The loop is generated, so that each of the five integers handles this case inline, without a function call.
All other cases go through functions. Records that resemble the one before them are left to a faster loop
(plain_records.py).

What the loop makes of a record is up to its caller: :class:`Record` here, a consumer's own type in
:func:`record_loop`. A second pass over the records, only to change their type, would take as long as the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.wire.errors import WireError
from harness.wire.makers import write_making
from harness.wire.records.encoding import (
    MAX_VARINT_BYTES,
    MAX_VARLONG_BYTES,
    int64,
    read_varint,
    varint_cut_off,
)
from harness.wire.records.model import LOG_APPEND_TIME, BatchHeader, Record
from harness.wire.records.plain_records import layout_at, plain_loops
from harness.wire.source import Source

#: Fewer records than this are not worth a look at their layout.
_FEW: Final = 8
#: The general loop reads at most this many records before the layout is tried again.
_MOST_GENERAL: Final = 64
#: The values of one-byte and two-byte integers. The index is the first byte plus 128 times the second byte. For two
#: bytes the first byte's highest bit is set, which adds 128, so there are two ranges.
_UNFOLDED: Final = tuple((folded >> 1) ^ -(folded & 1) for folded in (*range(1 << 7), *range(1 << 14)))
_LAST_INT64: Final = (1 << 63) - 1


def read_records(data: bytes, header: BatchHeader) -> tuple[Record, ...]:
    """Decode all records of a batch from its decompressed data. Raises :class:`WireError`."""
    count = header.record_count
    if count < 0:
        raise WireError(
            "record-count",
            "the batch at offset {base_offset} claims {count:record}",
            base_offset=header.base_offset,
            count=count,
        )
    append_time_ms = header.max_timestamp_ms if header.attributes & LOG_APPEND_TIME else None
    records: list[Record] = []
    at = _read(data, 0, count, records, header.base_offset, header.base_timestamp_ms, append_time_ms)
    if at != len(data):
        raise left_over(len(data) - at, header)
    return tuple(records)


def left_over(left: int, header: BatchHeader) -> WireError:
    """Return the error for bytes after the last record of a batch."""
    return WireError(
        "bytes-left-over",
        "{left} bytes are left over after the {count:record} of the batch at offset {base_offset}",
        left=left,
        count=header.record_count,
        base_offset=header.base_offset,
    )


def _read_headers(data: bytes, at: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = read_varint(data, at)
    if count == 0:
        return (), at
    # A header takes at least two bytes, so the bytes that are present bound the claim.
    if count < 0 or count > (len(data) - at) // 2:
        raise WireError("record-header-count", "a record claims {count} headers", count=count)
    headers = []
    for _ in range(count):
        name, at = _read_bytes(data, at)
        if name is None:
            raise WireError("record-header-name", "a record header has no name")
        content, at = _read_bytes(data, at)
        # Java does the same: a name that is not valid UTF-8 must not make the record unreadable.
        headers.append((name.decode(errors="replace"), content))
    return tuple(headers), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        _null(length, at)
        return None, at
    end = at + length
    if end > len(data):
        raise _missing(length, data, at)
    return data[at:end], end


def _null(length: int, at: int) -> None:
    """Raise :class:`WireError` for a negative length other than -1, which means null."""
    if length < -1:
        raise WireError(
            "negative-length", "the length {length} before {at} is negative", length=length, at=at
        )


def _missing(length: int, data: bytes, at: int) -> WireError:
    return WireError(
        "record-cut-off",
        "{length} bytes should follow at {at}, there are {left}",
        length=length,
        at=at,
        left=len(data) - at,
    )


def _too_long(size: int, left: int) -> WireError:
    return WireError("record-too-long", "a record claims {size} bytes, {left} are left", size=size, left=left)


def _off_end(size: int, off: int) -> WireError:
    return WireError(
        "record-off-end", "a record of {size} bytes ends {off} bytes off its end", size=size, off=off
    )


def _write_varint(source: Source, name: str, max_bytes: int = MAX_VARINT_BYTES) -> None:
    source.line("byte = data[at]")
    with source.block("if byte < 0x80:"):
        source.line(f"{name} = unfolded[byte]; at += 1")
    with source.block("elif (second := data[at + 1]) < 0x80:"):
        source.line(f"{name} = unfolded[byte + (second << 7)]; at += 2")
    with source.block("else:"):
        source.line(f"{name}, at = read_varint(data, at, {max_bytes})")


def _write_bytes(source: Source, name: str) -> None:
    _write_varint(source, f"{name}_size")
    with source.block(f"if {name}_size < 0:"):
        source.line(f"{name} = None")
        with source.block(f"if {name}_size != -1:"):
            source.line(f"null({name}_size, at)")
    with source.block("else:"):
        source.line(f"stop = at + {name}_size")
        with source.block("if stop > size:"):
            source.line(f"raise missing({name}_size, data, at)")
        source.line(f"{name} = data[at:stop]; at = stop")


def _write_record(source: Source, write_made: Callable[[Source], str]) -> None:
    _write_varint(source, "record_bytes")
    source.line("end = at + record_bytes")
    with source.block("if record_bytes < 0 or end > size:"):
        source.line("raise too_long(record_bytes, size - at)")
    # One byte of attributes, which have no meaning yet. Kafka skips them as well.
    source.line("at += 1")
    _write_varint(source, "delta_ms", MAX_VARLONG_BYTES)
    _write_varint(source, "index")
    _write_bytes(source, "key")
    _write_bytes(source, "value")
    with source.block("if data[at]:"):
        source.line("headers, at = read_headers(data, at)")
    with source.block("else:"):
        source.line("headers = (); at += 1")
    with source.block("if at != end:"):
        source.line("raise off_end(record_bytes, abs(end - at))")
    source.line("timestamp_ms = base_timestamp_ms + delta_ms if append_time_ms is None else append_time_ms")
    with source.block("if not -last_int64 <= timestamp_ms <= last_int64:"):
        source.line("timestamp_ms = int64(timestamp_ms)")
    source.line(f"add({write_made(source)})")


def record_loop(write_made: Callable[[Source], str], *constants: str) -> Callable[..., int]:
    """Return a loop that decodes records and makes values of them.

    ``write_made`` writes the code that makes one value, and returns its expression. The code can use ``base_offset +
    index`` (the offset), ``timestamp_ms``, ``key``, ``value``, ``headers``, ``key_size`` and ``value_size`` (in bytes,
    -1 for null) and the ``constants``. The loop is called as ``loop(data, at, count, into, base_offset,
    base_timestamp_ms, append_time_ms, *constants)``: it decodes ``count`` records from position ``at`` of the
    decompressed data, appends each value to the list ``into``, and returns the position after the last.
    ``append_time_ms`` replaces the records' own timestamps unless it is None. The loop raises :class:`WireError` at the
    first invalid record, after it has appended those before it.
    """
    read_any = _general_loop(write_made, constants)
    read_unkeyed, read_keyed = plain_loops(write_made, *constants)

    def read(data: bytes, at: int, count: int, into: list[Any], *given: Any) -> int:
        general = 0 if at else 1  # the first record of all has none before it
        while count:
            taken = min(general, count) if count >= _FEW else count
            if taken:
                at = read_any(data, at, taken, into.append, *given)
                count -= taken
            done = 0
            if count and (layout := layout_at(data, at)):
                read_plain = read_keyed if layout.keys else read_unkeyed
                at, done = read_plain(data, at, count, into, *given, *layout)
                count -= done
            general = 0 if done >= _FEW else min(max(1, 2 * general), _MOST_GENERAL)
        return at

    return read


def _general_loop(write_made: Callable[[Source], str], constants: tuple[str, ...]) -> Callable[..., int]:
    source = Source(
        cut_off=varint_cut_off,
        off_end=_off_end,
        too_long=_too_long,
        int64=int64,
        last_int64=_LAST_INT64,
        missing=_missing,
        null=_null,
        read_headers=_read_headers,
        read_varint=read_varint,
        unfolded=_UNFOLDED,
    )
    given = ", ".join(("base_offset", "base_timestamp_ms", "append_time_ms", *constants))
    with source.block(f"def read_loop(data, at, count, add, {given}):"):
        source.line("size = len(data)")
        with source.block("try:"), source.block("for _ in range(count):"):
            _write_record(source, write_made)
        with source.block("except IndexError:"):
            source.line("raise cut_off(at) from None")
        source.line("return at")
    return source.compiled("read_loop")


def _write_plain_record(source: Source) -> str:
    fields = {name: name for name in ("timestamp_ms", "key", "value", "headers")}
    return write_making(source, Record, {"offset": "base_offset + index", **fields}.items())


_read: Final = record_loop(_write_plain_record)
