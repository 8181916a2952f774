"""What kio's classes say about the wire format, as plain values.

This is the only module that inspects their annotations. :mod:`~harness.wire.readers` and :mod:`~harness.wire.writers`
are compiled from its results.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

#: The implicit defaults of tagged fields for which the schema declares none: the value of zero bytes.
_ZERO: Final[dict[str, Any]] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "int32": 0,
    "int64": 0,
    "uint16": 0,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
}


@dataclass(frozen=True, slots=True)
class Primitive:
    """A value of one of Kafka's primitive types, by kio's name for it, e.g. ``int32`` or ``timedelta_i32``."""

    kafka_type: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Structure:
    """One of kio's classes. If it is nullable, a marker byte precedes it (KIP-893)."""

    entity: Any
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """An array: a length, followed by that many items."""

    item: Primitive | Structure
    nullable: bool


Shape = Primitive | Structure | Array


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a structure. A tagged field has a ``default``, used when it is omitted (KIP-482)."""

    name: str
    shape: Shape
    tag: int | None
    default: Any


@cache
def parts_of(entity: Any) -> tuple[Part, ...]:
    """Return the fields of one of kio's classes in wire order, with the tagged ones last, in order of their tags."""
    parts = [_part(field) for field in fields(entity)]
    plain = [part for part in parts if part.tag is None]
    return (*plain, *sorted((part for part in parts if part.tag is not None), key=lambda part: part.tag or 0))


def _part(field: Field[Any]) -> Part:
    tag = field.metadata.get("tag")
    return Part(field.name, _shape(field), tag, None if tag is None else _default(field))


def _shape(field: Field[Any]) -> Shape:
    annotation, nullable = _without_none(field.type)
    if get_origin(annotation) is tuple:
        item, _ = _without_none(get_args(annotation)[0])
        return Array(_single(field, item, nullable=False), nullable)
    return _single(field, annotation, nullable=nullable)


def _single(field: Field[Any], annotation: Any, *, nullable: bool) -> Primitive | Structure:
    if is_dataclass(annotation):
        return Structure(annotation, nullable)
    return Primitive(field.metadata["kafka_type"], nullable)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None is allowed."""
    if get_origin(annotation) in (UnionType, Union):
        inner = [part for part in get_args(annotation) if part is not NoneType]
        return inner[0], True
    return annotation, False


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    match _shape(field):
        case Structure(entity):
            return entity(**{part.name: _default(part) for part in fields(entity)})
        case Array():
            return ()
        case Primitive(kafka_type):
            return _ZERO[kafka_type]
