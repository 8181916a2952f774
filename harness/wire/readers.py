"""Compiled readers: decode messages from untrusted bytes.

kio has its own fast reader, written in Rust, and the two agree on valid bytes (the tests compare them over every
API and version). It does not suit a harness that injects hostile bytes, for three reasons:

- It reserves memory for as many elements as an array's length claims before it checks that they are present. A claim
  of two thousand million elements *aborts the process*, without an exception.
- It treats an unknown tagged field as an error, while the protocol requires that it is skipped (KIP-482).
- It treats an unknown error code as an error. Here it is read as a plain int, so that
  :func:`harness.wire.error_table.error_for` can describe it.

The number of elements in all arrays of a message is limited. A few megabytes can encode millions of empty elements, and
a reader that is busy with them for seconds cannot forward other frames meanwhile. A reader also returns their number,
since a client can send many such messages.

The position in the data only ever increases. A string whose length exceeds the data therefore needs no check of its
own: either the next read fails, or the message ends after the end of its bytes.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.wire import primitives as p
from harness.wire.errors import WireError
from harness.wire.makers import write_making
from harness.wire.primitives import Data, Reader
from harness.wire.schema import Array, Part, Primitive, Shape, Structure, parts_of
from harness.wire.source import Source

#: The limit for all arrays of a message together, and for those of one tagged field.
MAX_ELEMENTS: Final = 100_000
MAX_TAGGED_ELEMENTS: Final = 1_000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ERROR_CODES: Final[dict[int, ErrorCode]] = {int(code): code for code in ErrorCode}

#: Types of a fixed size: their struct layout, and the expression that makes the value from the unpacked one.
_FIXED: Final[dict[str, tuple[str, str]]] = {
    "bool": ("?", "{0}"),
    "int8": ("b", "{0}"),
    "int16": ("h", "{0}"),
    "int32": ("i", "{0}"),
    "int64": ("q", "{0}"),
    "uint16": ("H", "{0}"),
    "float64": ("d", "{0}"),
    "uuid": ("16s", "uuid({0})"),
    "error_code": ("h", "error_code({0}, {0})"),
    "timedelta_i32": ("i", "duration({0})"),
    "timedelta_i64": ("q", "duration({0})"),
    "datetime_i64": ("q", "moment({0})"),
}
#: Types with a length prefix: the struct layout of the length in versions that are not flexible.
_SIZED: Final = {"string": "h", "bytes": "i", "records": "i"}
#: The expression for the value of a sized type, for types other than bytes.
_SLICED: Final = {"string": "str(data[at:stop], 'utf-8')"}


# A trial uses few topics and few distinct timeouts. Both values are expensive to create, and immutable.
@lru_cache(maxsize=1024)
def _uuid(raw: bytes) -> UUID | None:
    return UUID(bytes=raw) if any(raw) else None


@lru_cache(maxsize=1024)
def _duration(value_ms: int) -> timedelta:
    try:
        return timedelta(milliseconds=value_ms)
    except OverflowError:
        raise WireError(
            "duration-range", "a duration of {value_ms} ms is out of range", value_ms=value_ms
        ) from None


def _moment(value_ms: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=value_ms)
    except OverflowError:
        raise WireError(
            "timestamp-range", "a timestamp of {value_ms} ms is out of range", value_ms=value_ms
        ) from None


def _null(length: int, at: int) -> None:
    """Return the value for a negative length. Raises :class:`WireError` if the length is below -1."""
    if length < -1:
        raise WireError(
            "negative-length", "the length {length} before {at} is negative", length=length, at=at
        )


def _not_null(length: int, at: int) -> None:
    _null(length, at)
    raise WireError("null-not-allowed", "null before {at} in a field that cannot be null", at=at)


def _claim(count: int, data: Data, at: int) -> WireError:
    return WireError(
        "array-too-long",
        "an array claims {count:element}, {left} bytes are left",
        count=count,
        left=len(data) - at,
    )


def _crowded(at: int) -> WireError:
    return WireError(
        "too-many-elements",
        "the arrays before {at} have more than {most:,} elements",
        at=at,
        most=MAX_ELEMENTS,
    )


def _not_utf_8(name: str, at: int) -> WireError:
    return WireError("string-not-utf-8", "{name} has a string at {at} that is not UTF-8", name=name, at=at)


def _cut_off(name: str, data: Data, at: int) -> WireError:
    return WireError(
        "message-cut-off",
        "{name} is cut off: more should follow at {at}, there are {count} bytes",
        name=name,
        at=at,
        count=len(data),
    )


def _tagged(read: Reader, name: str, data: Data, begin: int, end: int) -> tuple[Any, int]:
    value, stop, elements = read(data, begin)
    if stop != end:
        raise WireError(
            "tagged-field-length",
            "the tagged field {name} has {size} bytes and takes {taken}",
            name=name,
            size=end - begin,
            taken=stop - begin,
        ).after(elements)
    return value, elements


_NAMES: Final[dict[str, Any]] = {
    "WireError": WireError,
    "not_utf_8": _not_utf_8,
    "claim": _claim,
    "crowded": _crowded,
    "cut_off": _cut_off,
    "duration": _duration,
    "error_code": _ERROR_CODES.get,
    "moment": _moment,
    "not_null": _not_null,
    "null": _null,
    "read_tags": p.read_tags,
    "read_uvarint": p.read_uvarint,
    "struct_error": struct.error,
    "tagged": _tagged,
    "unpack_from": struct.unpack_from,
    "uuid": _uuid,
}


def _plain_layout(item: Primitive | Structure) -> str:
    """Return the struct layout for items that can be unpacked in one call, or an empty string for all others."""
    match item:
        case Primitive(kafka_type) if _FIXED.get(kafka_type, ("", ""))[1] == "{0}":
            return _FIXED[kafka_type][0]
        case _:
            return ""


class _Reading(Source):
    """Source code that reads ``data`` from position ``at``."""

    def __init__(self, *, flexible: bool) -> None:
        super().__init__(**_NAMES)
        self._flexible = flexible

    def value(self, shape: Shape) -> str:
        """Write the code that reads one value. Return the expression for it, which is valid once the run has ended."""
        match shape:
            case Array():
                return self._array(shape)
            case Structure(entity, nullable):
                return self._nullable_structure(entity) if nullable else self.structure(entity)
            case Primitive(kafka_type, nullable) if kafka_type in _SIZED:
                return self._sized(kafka_type, nullable=nullable)
            case Primitive(kafka_type, nullable):
                layout, expression = _FIXED[kafka_type]
                if nullable and kafka_type == "datetime_i64":
                    expression = "None if {0} == -1 else " + expression
                return expression.format(self._waiting(layout))

    def _waiting(self, layout: str) -> str:
        name = self.fresh("v")
        self.wait(layout, name)
        return name

    def unpack(self) -> None:
        """End the run: unpack the values that wait in it, so that later code can use them."""
        layout, names = self.end_run()
        if layout == "B":
            self.line(f"{names[0]} = data[at]")
        elif layout:
            unpack = self.constant("unpack", struct.Struct(">" + layout).unpack_from)
            self.line(f"{', '.join(names)}, = {unpack}(data, at)")
        if layout:
            self.line(f"at += {struct.calcsize('>' + layout)}")

    def _length(self, layout: str) -> str:
        """Write the code that reads a length. Flexible versions encode the length plus one, and 0 means null."""
        name = self._waiting("B" if self._flexible else layout)
        self.unpack()
        if self._flexible:
            with self.block(f"if {name} > 127:"):
                self.line(f"{name}, at = read_uvarint(data, at - 1)")
            self.line(f"{name} -= 1")
        return name

    def _sized(self, kafka_type: str, *, nullable: bool) -> str:
        length, value = self._length(_SIZED[kafka_type]), self.fresh("v")
        with self.block(f"if {length} < 0:"):
            self.line(f"{value} = {'null' if nullable else 'not_null'}({length}, at)")
        with self.block("else:"):
            self.line(f"stop = at + {length}")
            # str() and not .decode(), because the data may be a view, which avoids a copy of large messages.
            self.line(f"{value} = {_SLICED.get(kafka_type, 'data[at:stop]')}")
            self.line("at = stop")
        return value

    def _array(self, shape: Array) -> str:
        count, value = self._length("i"), self.fresh("v")
        with self.block(f"if {count} < 0:"):
            self.line(f"{value} = {'null' if shape.nullable else 'not_null'}({count}, at)")
        # Every element takes at least one byte, so the bytes that are present bound the work.
        with self.block(f"elif {count} > len(data) - at:"):
            self.line(f"raise claim({count}, data, at)")
        with self.block("else:"):
            self._take_room(count)
            self._items(shape.item, count, value)
        return value

    def _take_room(self, count: str) -> None:
        with self.block(f"if {count} > room:"):
            self.line("raise crowded(at)")
        self.line(f"room -= {count}")

    def _items(self, item: Primitive | Structure, count: str, value: str) -> None:
        layout = _plain_layout(item)
        if layout:
            self.line(f"{value} = unpack_from(f'>{{{count}}}{layout}', data, at)")
            self.line(f"at += {count} * {struct.calcsize('>' + layout)}")
            return
        self.line(f"{value} = []")
        with self.block(f"for _ in range({count}):"):
            read = self.value(item)
            self.unpack()
            self.line(f"{value}.append({read})")
        self.line(f"{value} = tuple({value})")

    def _nullable_structure(self, entity: Any) -> str:
        marker, value = self._waiting("b"), self.fresh("v")
        self.unpack()
        self.line(f"{value} = None")
        with self.block(f"if {marker} >= 0:"):
            self.line(f"{value} = {self.structure(entity)}")
        return value

    def structure(self, entity: Any) -> str:
        """Write the code that reads one of kio's classes. Return the variable's name."""
        parts = parts_of(entity)
        values = [(part.name, self.value(part.shape)) for part in parts if part.tag is None]
        if self._flexible:
            values += self._tags([part for part in parts if part.tag is not None])
        self.unpack()
        return write_making(self, entity, values)

    def _tags(self, parts: list[Part]) -> list[tuple[str, str]]:
        count = self._waiting("B")
        self.unpack()
        values = [(part.name, self.fresh("v")) for part in parts]
        for part, (_, value) in zip(parts, values, strict=True):
            self.line(f"{value} = {self.constant('default', part.default)}")
        with self.block(f"if {count}:"):
            wanted = self.constant("wanted", frozenset(part.tag for part in parts))
            self.line(f"tags, at = read_tags(data, at - 1, {wanted})")
            for part, (name, value) in zip(parts, values, strict=True):
                read = self.constant(
                    "read", _reader(part.shape, name, flexible=True, room=MAX_TAGGED_ELEMENTS)
                )
                with self.block(f"if {part.tag} in tags:"):
                    self.line(f"{value}, more = tagged({read}, {name!r}, data, *tags[{part.tag}])")
                    self._take_room("more")
        return values


def _reader(shape: Shape, name: str, *, flexible: bool, room: int = MAX_ELEMENTS) -> Reader:
    source = _Reading(flexible=flexible)
    with source.block(f"def read_{name}(data, at):"):
        source.line(f"room = {room}")
        with source.block("try:"):
            value = source.value(shape)
            source.unpack()
            source.line(f"return {value}, at, {room} - room")
        with source.block("except (struct_error, IndexError):"):
            source.line(f"raise cut_off({name!r}, data, at).after({room} - room) from None")
        with source.block("except UnicodeDecodeError:"):
            source.line(f"raise not_utf_8({name!r}, at).after({room} - room) from None")
        with source.block("except WireError as error:"):
            source.line(f"raise error.after({room} - room)")
    return source.compiled(f"read_{name}")


@cache
def entity_reader(entity: Any) -> Reader:
    """Return the reader of one of kio's classes.

    If the last string is cut off, the position after the message is greater than the length of the data, so the caller
    must compare them.
    """
    return _reader(Structure(entity), entity.__name__, flexible=entity.__flexible__)
