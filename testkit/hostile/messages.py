"""Real frames: any message of any API and version, with any values, encoded by the normal writer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.messages import (
    Kind,
    client_versions,
    encode_request,
    encode_response,
    make,
    message_class,
)
from harness.wire.schema import Array, Primitive, Shape, Structure, parts_of
from testkit.hostile.records import hostile_records

_BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS: Final = ("", "t", "topic-1", "client", "é漢", "127.0.0.1", "x" * 200)
_CODES: Final = tuple(ErrorCode)
_YEAR_2039_MS: Final = 1 << 41
_KINDS: Final[tuple[Kind, ...]] = ("request", "response")
_APIS: Final = tuple(Api)
#: The APIs between a producer and its broker, and those with records: half of all frames.
_FAMILIAR: Final = (Api.PRODUCE, Api.FETCH, Api.METADATA, Api.API_VERSIONS, Api.INIT_PRODUCER_ID)


class RealFrame(NamedTuple):
    """A whole frame (``data``), including its size field. The key and version are needed to read it."""

    api_key: int
    api_version: int
    kind: Kind
    data: bytes


def real_frame(
    dice: Dice,
    api: int | None = None,
    version: int | None = None,
    kind: Kind | None = None,
    correlation_id: int | None = None,
) -> RealFrame:
    """Return the frame of a message. Arguments that are None are drawn."""
    if api is None:
        api = dice.choice(dice.choice((_APIS, _FAMILIAR)))
    if version is None:
        version = dice.between(*client_versions(api))
    drawn = dice.choice(_KINDS) if kind is None else kind
    if correlation_id is None:
        correlation_id = dice.between(0, (1 << 31) - 1)
    message = _structure(message_class(api, version, drawn), dice)
    if drawn == "request":
        data = encode_request(message, correlation_id, dice.choice((None, *_TEXTS)))
    else:
        data = encode_response(message, correlation_id)
    return RealFrame(api, version, drawn, data)


def _structure(entity: Any, dice: Dice) -> Any:
    values = {}
    for part in parts_of(entity):
        is_default = part.tag is not None and dice.between(0, 1)
        values[part.name] = part.default if is_default else _value(part.shape, dice)
    return make(entity, **values)


def _value(shape: Shape, dice: Dice) -> Any:
    if shape.nullable and not dice.between(0, 3):
        return None
    match shape:
        case Structure(entity):
            return _structure(entity, dice)
        case Array(item):
            return tuple(_value(item, dice) for _ in range(dice.choice((0, 1, 1, 2))))
        case Primitive(kafka_type):
            return _plain(kafka_type)(dice)


@cache
def _plain(kafka_type: str) -> Callable[[Dice], Any]:
    """Return the function that draws a value of a primitive type."""
    if kafka_type in _BITS:
        top = (1 << _BITS[kafka_type]) - 1
        return lambda dice: dice.choice((0, 0, 1, 2, -1, top, -top - 1))
    return _DRAWN[kafka_type]


def _bytes(dice: Dice) -> bytes:
    return bytes(dice.choice((0, 1, 5, 300)))


def _uuid(dice: Dice) -> UUID:
    return UUID(int=dice.between(1, 9))


def _duration(dice: Dice) -> timedelta:
    return timedelta(milliseconds=dice.choice((0, 0, 1, 1_000, -1, (1 << 31) - 1)))


def _moment(dice: Dice) -> datetime:
    return _EPOCH + timedelta(milliseconds=dice.between(0, _YEAR_2039_MS))


_DRAWN: Final[dict[str, Callable[[Dice], Any]]] = {
    "bool": lambda dice: bool(dice.between(0, 1)),
    "bytes": _bytes,
    "datetime_i64": _moment,
    "error_code": lambda dice: dice.choice(_CODES),
    "float64": lambda dice: dice.between(-9, 9) / 8,
    "records": hostile_records,
    "string": lambda dice: dice.choice(_TEXTS),
    "timedelta_i32": _duration,
    "timedelta_i64": _duration,
    "uint16": lambda dice: dice.choice((0, 9_092, (1 << 16) - 1)),
    "uuid": _uuid,
}
