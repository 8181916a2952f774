"""Compiled writers: encode messages into the same bytes as kio's own writer, which the tests verify.

In addition, they can write an unknown error code, which the readers return as a plain int.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Final
from uuid import UUID

from harness.wire import primitives as p
from harness.wire.schema import Array, Part, Primitive, Shape, Structure, parts_of
from harness.wire.source import Source

#: Types of a fixed size: their struct layout, and the expression that makes the packed value from the field's value.
_FIXED: Final[dict[str, tuple[str, str]]] = {
    "bool": ("?", "{0}"),
    "int8": ("b", "{0}"),
    "int16": ("h", "{0}"),
    "int32": ("i", "{0}"),
    "int64": ("q", "{0}"),
    "uint16": ("H", "{0}"),
    "float64": ("d", "{0}"),
    "uuid": ("16s", "uuid_bytes({0})"),
    "error_code": ("h", "{0}"),
    "timedelta_i32": ("i", "duration_ms({0})"),
    "timedelta_i64": ("q", "duration_ms({0})"),
    "datetime_i64": ("q", "moment_ms({0})"),
}
_INT16: Final = struct.Struct(">h")
_NO_UUID: Final = bytes(16)


class _Uvarints(dict[int, bytes]):
    """Unsigned varints by value: short ones are precomputed, others are computed on request."""

    def __missing__(self, value: int) -> bytes:
        return p.write_uvarint(value)


UVARINTS: Final = _Uvarints({value: p.write_uvarint(value) for value in range(1 << 14)})


def _uuid_bytes(value: UUID | None) -> bytes:
    return _NO_UUID if value is None else value.bytes


# Topic names, host names and timeouts repeat often.
@lru_cache(maxsize=1024)
def _duration_ms(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)


def _moment_ms(value: datetime) -> int:
    return round(value.timestamp() * 1000)


@lru_cache(maxsize=1024)
def _compact_string(value: str) -> bytes:
    raw = value.encode()
    return UVARINTS[len(raw) + 1] + raw


@lru_cache(maxsize=1024)
def _legacy_string(value: str) -> bytes:
    raw = value.encode()
    return _INT16.pack(len(raw)) + raw


def _tagged(tag: int, value: bytes) -> bytes:
    return UVARINTS[tag] + UVARINTS[len(value)] + value


_NAMES: Final[dict[str, Any]] = {
    "UVARINTS": UVARINTS,
    "compact_string": _compact_string,
    "duration_ms": _duration_ms,
    "join": b"".join,
    "legacy_string": _legacy_string,
    "moment_ms": _moment_ms,
    "pack": struct.pack,
    "tagged": _tagged,
    "uuid_bytes": _uuid_bytes,
}


def _plain_layout(item: Primitive | Structure) -> str:
    """Return the struct layout for items that can be packed in one call, or an empty string for all others."""
    match item:
        case Primitive(kafka_type) if _FIXED.get(kafka_type, ("", ""))[1] == "{0}":
            return _FIXED[kafka_type][0]
        case _:
            return ""


class _Writing(Source):
    """Source code that passes pieces of bytes to ``add``."""

    def __init__(self, *, flexible: bool) -> None:
        super().__init__(**_NAMES)
        self._flexible = flexible

    def value(self, shape: Shape, value: str) -> None:
        """Write the code that encodes the value of an expression."""
        match shape:
            case Array(item):
                self._array(item, value)
            case Structure(entity, nullable):
                write = self._nullable_structure if nullable else self.structure
                write(entity, self._named(value))
            case Primitive("string", nullable):
                self._string(value, nullable=nullable)
            case Primitive("bytes" | "records", nullable):
                self._bytes(value, nullable=nullable)
            case Primitive(kafka_type, nullable):
                layout, expression = _FIXED[kafka_type]
                if nullable and kafka_type == "datetime_i64":
                    expression = "-1 if {0} is None else " + expression
                self.wait(layout, expression.format(value))

    def pack(self) -> None:
        """End the run: write the code that packs the values that wait in it."""
        layout, expressions = self.end_run()
        if set(expressions) == {"0"}:
            self.line(f"add({bytes(struct.calcsize('>' + layout))!r})")
        elif layout:
            pack = self.constant("pack", struct.Struct(">" + layout).pack)
            self.line(f"add({pack}({', '.join(expressions)}))")

    def _named(self, value: str) -> str:
        """Return a variable name for an expression whose value is needed more than once."""
        if value.isidentifier():
            return value
        name = self.fresh("v")
        self.line(f"{name} = {value}")
        return name

    def _string(self, value: str, *, nullable: bool) -> None:
        write = "compact_string" if self._flexible else "legacy_string"
        null = b"\x00" if self._flexible else b"\xff\xff"
        self.pack()
        if nullable:
            value = self._named(value)
            self.line(f"add({null!r} if {value} is None else {write}({value}))")
        else:
            self.line(f"add({write}({value}))")

    def _length(self, value: str) -> None:
        """Write the code that encodes the length of a value that may be None."""
        if self._flexible:
            self.pack()
            self.line(f"add(b'\\x00' if {value} is None else UVARINTS[len({value}) + 1])")
        else:
            self.wait("i", f"-1 if {value} is None else len({value})")
            self.pack()

    def _bytes(self, value: str, *, nullable: bool) -> None:
        value = self._named(value)
        if nullable:
            self._length(value)
            with self.block(f"if {value}:"):
                self.line(f"add({value})")
            return
        if self._flexible:
            self.pack()
            self.line(f"add(UVARINTS[len({value}) + 1])")
        else:
            self.wait("i", f"len({value})")
            self.pack()
        self.line(f"add({value})")

    def _array(self, item: Primitive | Structure, value: str) -> None:
        # Like kio, this writes null even where the schema forbids it. It is the only invalid message that can be
        # written.
        value = self._named(value)
        self._length(value)
        layout = _plain_layout(item)
        with self.block(f"if {value}:"):
            if layout:
                self.line(f"add(pack(f'>{{len({value})}}{layout}', *{value}))")
                return
            each = self.fresh("v")
            with self.block(f"for {each} in {value}:"):
                self.value(item, each)
                self.pack()

    def _nullable_structure(self, entity: Any, value: str) -> None:
        self.pack()
        with self.block(f"if {value} is None:"):
            self.line("add(b'\\xff')")
        with self.block("else:"):
            self.wait("b", "1")
            self.structure(entity, value)
            self.pack()

    def structure(self, entity: Any, value: str) -> None:
        """Write the code that encodes one of kio's classes, which is bound to the variable ``value``."""
        parts = parts_of(entity)
        for part in parts:
            if part.tag is None:
                self.value(part.shape, f"{value}.{part.name}")
        if self._flexible:
            self._tags([part for part in parts if part.tag is not None], value)

    def _tags(self, parts: list[Part], value: str) -> None:
        if not parts:
            self.wait("B", "0")
            return
        count, tags, field = self.fresh("count"), self.fresh("tags"), self.fresh("v")
        self.pack()
        self.line(f"{count} = 0; {tags} = b''")
        for part in parts:
            unlike = "is not" if part.default is None else "!="
            self.line(f"{field} = {value}.{part.name}")
            with self.block(f"if {field} {unlike} {self.constant('default', part.default)}:"):
                write = self.constant("write", _tagged_writer(part))
                self.line(f"{count} += 1; {tags} += tagged({part.tag}, {write}({field}))")
        self.line(f"add(UVARINTS[{count}] + {tags})")


def _tagged_writer(part: Part) -> Callable[[Any], bytes]:
    # A null tagged field is omitted, so the encoding of a value that is present has no room for null.
    shape = part.shape
    match shape:
        case Primitive(kafka_type):
            shape = Primitive(kafka_type, nullable=False)
        case Structure(entity):
            shape = Structure(entity)
    return _writer(shape, part.name, flexible=True)


def _writer(shape: Shape, name: str, *, flexible: bool) -> Callable[[Any], bytes]:
    source = _Writing(flexible=flexible)
    with source.block(f"def write_{name}(value):"):
        source.line("pieces = []; add = pieces.append")
        source.value(shape, "value")
        source.pack()
        source.line("return join(pieces)")
    return source.compiled(f"write_{name}")


@cache
def entity_writer(entity: Any) -> Callable[[Any], bytes]:
    """Return the writer of one of kio's classes. It raises Python's own errors for a value that does not fit."""
    return _writer(Structure(entity), entity.__name__, flexible=entity.__flexible__)
