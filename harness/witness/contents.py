"""Extract the facts that evidence needs from a frame: error codes of any response, and what some APIs say.

Those are Produce, and the APIs of a consumer (:mod:`harness.witness.consumer_contents`).

Every function takes the payload of a frame that has already been passed on, and raises WireError if its body cannot be
read. It counts the elements that it decodes, even if it raises. Messages are ``kio``'s dataclasses. The fields of a
class that contain error codes are looked up once per class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints
from uuid import UUID

from harness.limits.frames import MAX_TOPIC_NAMES
from harness.model.rows import ProducePart
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.headers import RequestHeader
from harness.wire.messages import read_request_body, read_response
from harness.wire.primitives import Data
from harness.wire.records import read_headers
from harness.witness.consumer_contents import (
    NO_PARTS,
    REQUESTS,
    ConsumerParts,
    answered,
    asked,
    assigned,
    topic_name,
)
from harness.witness.damage import with_damage

#: Topic id -> name, as learnt from Metadata responses. Produce identifies topics by id from version 13 on (KIP-516).
TopicNames = dict[UUID, str]
#: Called with a number of elements that were decoded.
Count = Callable[[int], None]


class Contents(NamedTuple):
    """The facts of a body.

    ``answered`` is False for a request that will get no response (Produce with acks=0). ``throttle_ms`` is how long a
    response asks its client to wait (KIP-219). ``acks`` and ``timeout_ms`` are the parameters of a Produce request.
    ``consumer`` are the parts of an API of a consumer.
    """

    produce: tuple[ProducePart, ...] = ()
    error_codes: tuple[int, ...] = ()
    answered: bool = True
    throttle_ms: int = 0
    acks: int | None = None
    timeout_ms: int | None = None
    consumer: ConsumerParts = NO_PARTS


NOTHING = Contents()
_NO_TIME, _MS = timedelta(0), timedelta(milliseconds=1)


def uncounted(_: int) -> None:
    """Count nothing: for frames that no client sent."""


def request_contents(
    payload: Data, header: RequestHeader, at: int, names: TopicNames, count: Count = uncounted
) -> Contents:
    """Return the facts of a whole request payload whose header ends at ``at``. Most APIs have none."""
    if header.api_key not in REQUESTS and header.api_key != Api.PRODUCE:
        return NOTHING
    try:
        message, elements = read_request_body(header, payload, at)
    except WireError as error:
        count(error.elements)
        raise
    if header.api_key in REQUESTS:
        count(elements + assigned(header.api_key, message))
        return Contents(consumer=asked(header.api_key, message, names))
    parts: tuple[ProducePart, ...] = ()
    try:
        parts = _sent(message, names)
    finally:
        count(elements + len(parts))
    return Contents(parts, (), message.acks != 0, acks=int(message.acks), timeout_ms=message.timeout // _MS)


def response_contents(
    payload: Data,
    api_key: int,
    api_version: int,
    names: TopicNames,
    count: Count = uncounted,
    *,
    is_changed: bool = False,
) -> Contents:
    """Return the facts of a whole response payload. Metadata responses add to ``names``.

    Checksums of fetched batches are compared only if a rule has changed the response.
    """
    try:
        _, message, elements = read_response(payload, api_key, api_version)
    except WireError as error:
        count(error.elements)
        raise
    count(elements + assigned(api_key, message))
    throttle_ms = getattr(message, "throttle_time", _NO_TIME) // _MS
    if api_key == Api.PRODUCE:
        parts = _answered(message, names)
        return Contents(
            parts, tuple([part.error_code for part in parts if part.error_code]), True, throttle_ms
        )
    if api_key == Api.METADATA:
        _learn(message, names)
    codes = tuple(_error_codes(message))
    parts_of_consumer = answered(api_key, message, names)
    if is_changed and api_key == Api.FETCH:
        offsets = tuple(with_damage(parts_of_consumer.offsets, message))
        parts_of_consumer = parts_of_consumer._replace(offsets=offsets)
    return Contents((), codes, True, throttle_ms, consumer=parts_of_consumer)


def _sent(message: Any, names: TopicNames) -> tuple[ProducePart, ...]:
    parts = []
    for topic in message.topic_data:
        name = topic_name(topic, names)
        for partition in topic.partition_data:
            index = partition.index
            headers = read_headers(partition.records) if partition.records else ()
            if not headers:
                parts.append(ProducePart(name, index))
            for header in headers:
                parts.append(
                    ProducePart(
                        name,
                        index,
                        header.producer_id,
                        header.producer_epoch,
                        header.base_sequence,
                        header.record_count,
                        header.crc,
                        compression=header.compression,
                        first_timestamp_ms=header.base_timestamp_ms,
                        max_timestamp_ms=header.max_timestamp_ms,
                    )
                )
    return tuple(parts)


def _answered(message: Any, names: TopicNames) -> tuple[ProducePart, ...]:
    parts = []
    for topic in message.responses:
        name = topic_name(topic, names)
        for partition in topic.partition_responses:
            code = int(partition.error_code)
            parts.append(
                ProducePart(name, partition.index, base_offset=partition.base_offset, error_code=code)
            )
    return tuple(parts)


def _learn(message: Any, names: TopicNames) -> None:
    for topic in message.topics:
        topic_id = getattr(topic, "topic_id", None)
        if topic_id is not None and topic.name is not None:
            names[topic_id] = str(topic.name)
            if len(names) > MAX_TOPIC_NAMES:
                del names[next(iter(names))]


def _error_codes(message: Any) -> Iterator[int]:
    kind: type = type(message)
    codes, nested = _error_fields(kind)
    for name in codes:
        if (code := int(getattr(message, name))) != 0:
            yield code
    for name in nested:
        value = getattr(message, name)
        for child in value if isinstance(value, tuple) else (value,):
            if is_dataclass(child):
                yield from _error_codes(child)


@cache
def _error_fields(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the message class's error code fields, and the fields that may contain classes with such fields."""
    names = [field.name for field in fields(kind)]
    codes = tuple(name for name in names if name.endswith("error_code"))
    hints = get_type_hints(kind)
    return codes, tuple(name for name in names if name not in codes and _holds_errors(hints[name]))


def _holds_errors(hint: Any) -> bool:
    """Return True if a value of this type may contain a class with error codes: itself, in a tuple, or if not null."""
    if is_dataclass(hint):
        return any(map(bool, _error_fields(hint)))  # type: ignore[arg-type]
    return any(_holds_errors(each) for each in get_args(hint))
