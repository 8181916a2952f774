"""Responses with something else in them: decoded, changed, encoded in the same version. Pure.

Only what is named changes. A payload that we would not write byte for byte as it came (a tagged field that we do not
know) is not rewritten: CannotRewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta, i64

from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.frames import SIZE_BYTES
from harness.wire.messages import decode_response, encode_response, make, message_class

Change = Callable[[Any], Any]

_CORRELATION_BYTES: Final = 4
#: What a broker says beside an error in place of what it did not do.
_NOT_DONE: Final[Mapping[str, Any]] = {"base_offset": i64(-1), "log_append_time": None}


class CannotRewrite(ValueError):
    """This response has to pass as it is."""


def rewrite(payload: bytes, api_key: int, api_version: int, change: Change) -> bytes:
    """The payload with ``change`` made to its message. CannotRewrite: it is not one that we can write again."""
    try:
        correlation_id, message = decode_response(payload, api_key, api_version)
        if encode_response(message, correlation_id)[SIZE_BYTES:] != payload:
            raise CannotRewrite("it has something in it that is not known here")
        return encode_response(change(message), correlation_id)[SIZE_BYTES:]
    except WireError as error:
        raise CannotRewrite(str(error)) from error


def error_code(code: int, partition: int | None = None, was: int | None = None) -> Change:
    """Every error code of a response is ``code``, or that of one partition; it tells of no append.

    With ``was`` only those that said so: what the broker did for other partitions stays true.
    """

    def fail(part: Any) -> Any:
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        index = values.get("partition_index", values.get("index"))
        is_meant = "error_code" in values and (partition is None or index == partition)
        is_meant = is_meant and was in (None, values["error_code"])
        changed = {name: _each(value, fail) for name, value in values.items()}
        if is_meant:
            changed["error_code"] = ErrorCode(code)
            changed |= {name: value for name, value in _NOT_DONE.items() if code and name in values}
        return replace(part, **changed)

    return fail


def throttle_time(throttle_ms: int) -> Change:
    """The client is told to hold back for so long (no response of a version without that field can say it)."""

    def throttle(message: Any) -> Any:
        if not any(field.name == "throttle_time" for field in fields(message)):
            raise CannotRewrite("this version has no throttle time")
        return replace(message, throttle_time=i32Timedelta.parse(timedelta(milliseconds=throttle_ms)))

    return throttle


def leaders(leader_id: int, epochs_back: int = 0) -> Change:
    """A Metadata response in which ``leader_id`` leads every partition, in an epoch that is so much older.

    One that names no such broker is left as it is: no broker, however stale, makes a leader of somebody that never was.
    """

    def lead(message: Any) -> Any:
        if leader_id not in {broker.node_id for broker in message.brokers}:
            return message
        return _in_topics(message, lambda part: _led(part, leader_id, epochs_back))

    return lead


def without_broker(node_id: int) -> Change:
    """A Metadata response that does not name a broker, but still lets it lead."""
    return lambda message: replace(
        message, brokers=tuple(broker for broker in message.brokers if broker.node_id != node_id)
    )


def other_correlation_id(payload: bytes) -> bytes:
    """A response to a request that nobody made: every bit of its correlation id but the sign is another."""
    changed = int.from_bytes(payload[:_CORRELATION_BYTES]) ^ 0x7FFF_FFFF
    return changed.to_bytes(_CORRELATION_BYTES) + payload[_CORRELATION_BYTES:]


def unsupported_version(payload: bytes) -> bytes:
    """ApiVersions in version 0 with UNSUPPORTED_VERSION, as to a client that asks in too high a version (KIP-511)."""
    correlation_id = int.from_bytes(payload[:_CORRELATION_BYTES], signed=True)
    answer = make(
        message_class(Api.API_VERSIONS, 0, "response"), error_code=ErrorCode.unsupported_version, api_keys=()
    )
    return encode_response(answer, correlation_id)[SIZE_BYTES:]


def _each(value: Any, change: Change) -> Any:
    if isinstance(value, tuple):
        return tuple(_each(item, change) for item in value)
    return change(value) if is_dataclass(value) else value


def _in_topics(message: Any, change: Change) -> Any:
    topics = (
        replace(topic, partitions=tuple(change(part) for part in topic.partitions))
        for topic in message.topics
    )
    return replace(message, topics=tuple(topics))


def _led(part: Any, leader_id: int, epochs_back: int) -> Any:
    epochs = {} if not hasattr(part, "leader_epoch") else {"leader_epoch": part.leader_epoch - epochs_back}
    return replace(part, leader_id=leader_id, **epochs)
