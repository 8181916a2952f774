"""kio's classes say what a message looks like; this reads one from bytes that nobody vouches for.

kio has a reader of its own, a fast one in Rust, and on good bytes the two agree (the tests hold them against
each other over every API and version). It does not fit a harness that injects hostile bytes, for three reasons:

- it reserves memory for as many elements as an array's length claims before looking whether they are there, and
  a claim of two thousand million *ends the process*: not an exception, an abort;
- an unknown tagged field is an error to it, while the protocol says to skip it (KIP-482);
- an error code that it does not know is an error to it. Here it is read as the plain int that it is, so that
  :func:`harness.wire.error_table.error_for` can speak about it.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.wire import primitives as p
from harness.wire.errors import WireError
from harness.wire.primitives import Reader

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ERROR_CODES: Final[dict[int, ErrorCode]] = {int(code): code for code in ErrorCode}


def _read_error_code(data: bytes, at: int) -> tuple[int, int]:
    code, at = p.read_int16(data, at)
    return _ERROR_CODES.get(code, code), at


def _read_uuid(data: bytes, at: int) -> tuple[UUID | None, int]:
    raw, at = p.take(data, at, 16)
    return (UUID(bytes=raw) if any(raw) else None), at


def _timedelta(read_ms: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[timedelta, int]:
        value_ms, at = read_ms(data, at)
        try:
            return timedelta(milliseconds=value_ms), at
        except OverflowError:
            raise WireError(f"a duration of {value_ms} ms is out of range") from None

    return read


def _datetime(*, nullable: bool) -> Reader:
    def read(data: bytes, at: int) -> tuple[datetime | None, int]:
        value_ms, at = p.read_int64(data, at)
        if nullable and value_ms == -1:
            return None, at
        try:
            return _EPOCH + timedelta(milliseconds=value_ms), at
        except OverflowError:
            raise WireError(f"a timestamp of {value_ms} ms is out of range") from None

    return read


def _sized(legacy: Reader, *, flexible: bool, nullable: bool, text: bool) -> Reader:
    def read(data: bytes, at: int) -> tuple[str | bytes | None, int]:
        length, at = p.read_length(data, at, flexible=flexible, legacy=legacy)
        if length < 0:
            if nullable:
                return None, at
            raise WireError(f"null at {at} in a field that cannot be null")
        raw, at = p.take(data, at, length)
        if not text:
            return raw, at
        try:
            return raw.decode(), at
        except UnicodeDecodeError:
            raise WireError(f"the string before {at} is not UTF-8") from None

    return read


def _array(read_item: Reader, *, flexible: bool, nullable: bool) -> Reader:
    def read(data: bytes, at: int) -> tuple[tuple[Any, ...] | None, int]:
        length, at = p.read_length(data, at, flexible=flexible, legacy=p.read_int32)
        if length < 0:
            if nullable:
                return None, at
            raise WireError(f"null at {at} in an array that cannot be null")
        # Every element takes a byte at least, so this bounds the work by what has really come.
        if length > len(data) - at:
            raise WireError(f"an array claims {length} elements, {len(data) - at} bytes are left")
        items = []
        for _ in range(length):
            item, at = read_item(data, at)
            items.append(item)
        return tuple(items), at

    return read


def _nullable_entity(read_entity: Reader) -> Reader:
    """A structure behind a marker byte: negative is null (KIP-893)."""

    def read(data: bytes, at: int) -> tuple[Any, int]:
        marker, at = p.read_int8(data, at)
        return (None, at) if marker < 0 else read_entity(data, at)

    return read


_FIXED: Final[dict[str, Reader]] = {
    "bool": p.read_bool,
    "int8": p.read_int8,
    "int16": p.read_int16,
    "int32": p.read_int32,
    "int64": p.read_int64,
    "uint16": p.read_uint16,
    "float64": p.read_float64,
    "uuid": _read_uuid,
    "error_code": _read_error_code,
    "timedelta_i32": _timedelta(p.read_int32),
    "timedelta_i64": _timedelta(p.read_int64),
}


def _primitive(kafka_type: str, *, flexible: bool, nullable: bool) -> Reader:
    match kafka_type:
        case "string":
            return _sized(p.read_int16, flexible=flexible, nullable=nullable, text=True)
        case "bytes" | "records":
            return _sized(p.read_int32, flexible=flexible, nullable=nullable, text=False)
        case "datetime_i64":
            return _datetime(nullable=nullable)
        case _:
            return _FIXED[kafka_type]


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type itself, and whether None may stand for it."""
    if get_origin(annotation) in (UnionType, Union):
        inner = [part for part in get_args(annotation) if part is not NoneType]
        return inner[0], True
    return annotation, False


def _is_entity(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _field(field: Field[Any], *, flexible: bool) -> Reader:
    annotation, nullable = _without_none(field.type)
    is_array = get_origin(annotation) is tuple
    item = _without_none(get_args(annotation)[0])[0] if is_array else annotation
    if _is_entity(item):
        read = entity_reader(item)
        if nullable and not is_array:
            return _nullable_entity(read)
    else:
        kafka_type: str = field.metadata["kafka_type"]
        read = _primitive(kafka_type, flexible=flexible, nullable=nullable and not is_array)
    return _array(read, flexible=flexible, nullable=nullable) if is_array else read


def _default(field: Field[Any]) -> Any:
    """What stands for a tagged field that is left out: where the schema says nothing, zero throughout."""
    if field.default is not MISSING:
        return field.default
    if _is_entity(field.type):
        entity: Any = field.type
        return entity(**{part.name: _default(part) for part in fields(entity)})
    # In the old versions' encoding zero bytes are zero, empty or false, whatever the type.
    return _field(field, flexible=False)(bytes(16), 0)[0]


@cache
def entity_reader(entity: Any) -> Reader:
    """The reader of one of kio's classes: a message, or a structure inside one."""
    flexible: bool = entity.__flexible__
    plain: list[tuple[str, Reader]] = []
    tagged: dict[int, tuple[str, Reader]] = {}
    implicit: dict[str, Any] = {}
    for field in fields(entity):
        read = _field(field, flexible=flexible)
        if "tag" not in field.metadata:
            plain.append((field.name, read))
            continue
        tagged[field.metadata["tag"]] = (field.name, read)
        if field.default is MISSING:
            implicit[field.name] = _default(field)

    def read_entity(data: bytes, at: int) -> tuple[Any, int]:
        values = dict(implicit)
        for name, read in plain:
            values[name], at = read(data, at)
        if not flexible:
            return entity(**values), at
        tags, at = p.read_tags(data, at)
        for tag, begin, end in tags:
            if tag not in tagged:
                continue
            name, read = tagged[tag]
            values[name], stop = read(data, begin)
            if stop != end:
                raise WireError(f"the tagged field {name} has {end - begin} bytes and takes {stop - begin}")
        return entity(**values), at

    return read_entity
