"""Change responses: decode them, change the message, and encode it in the same version. Pure.

Only the named parts change. A payload that would not be re-encoded to the same bytes (for example because of an unknown
tagged field) is not changed: CannotRewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode
from kio.static.primitive import Records, i32, i32Timedelta, i64

from harness.text.sentences import Coded
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.frames import SIZE_BYTES
from harness.wire.messages import decode_response, encode_response, make, message_class

Change = Callable[[Any], Any]

_CORRELATION_BYTES: Final = 4
#: The values of a broker's response for fields of an action that failed.
_NOT_DONE: Final[Mapping[str, Any]] = {"base_offset": i64(-1), "log_append_time": None}

#: The errors of a fetch session: it is unknown, of another epoch, or of other topic ids.
_OF_SESSIONS: Final = (
    ErrorCode.fetch_session_id_not_found,
    ErrorCode.invalid_fetch_session_epoch,
    ErrorCode.fetch_session_topic_id_error,
)
#: The values of a broker's response for fields of a partition that was not read.
_UNREAD: Final[Mapping[str, Any]] = {
    "high_watermark": i64(-1),
    "last_stable_offset": i64(-1),
    "log_start_offset": i64(-1),
    "aborted_transactions": None,
    "records": Records(b""),
}

#: The version of OffsetFetch from which on a client can ask for stable offsets (KIP-447).
_STABLE_FROM_VERSION: Final = 7
#: The values of a broker's response for fields of an offset that it does not tell.
_NO_OFFSET: Final[Mapping[str, Any]] = {
    "committed_offset": i64(-1),
    "committed_leader_epoch": i32(-1),
    "metadata": "",
}


class CannotRewrite(Coded, ValueError):
    """This response has to pass unchanged."""


def rewrite(payload: bytes, api_key: int, api_version: int, change: Change) -> bytes:
    """Return the payload with ``change`` applied to its message. Raises CannotRewrite if it cannot be re-encoded."""
    try:
        correlation_id, message = decode_response(payload, api_key, api_version)
        if encode_response(message, correlation_id)[SIZE_BYTES:] != payload:
            raise CannotRewrite("unknown-field", "it contains an unknown field")
        return encode_response(change(message), correlation_id)[SIZE_BYTES:]
    except WireError as error:
        raise CannotRewrite("response-unreadable", "{why}", why=error) from error


def error_code(code: int, partition: int | None = None, was: int | None = None) -> Change:
    """Return the change that sets every error code of a response, or one partition's, to ``code``.

    The response then reports no append. With ``was``, only parts with that error code change, so that the results for
    other partitions stay true.
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


def fetch_error(code: int) -> Change:
    """Return the change that makes a Fetch response report ``code``, as a broker does.

    The error of a session (KIP-227) is that of the whole response, which then has no partitions. Any other error is
    that of each partition in the response, which then has no records. A response of a session that does not exist, or
    without partitions, cannot have the error: CannotRewrite.
    """

    def fail(message: Any) -> Any:
        if code in _OF_SESSIONS:
            if not getattr(message, "session_id", 0):
                raise CannotRewrite("no-fetch-session", "it belongs to no fetch session")
            return replace(message, error_code=ErrorCode(code), session_id=i32(0), responses=())
        if not any(topic.partitions for topic in message.responses):
            raise CannotRewrite("no-fetched-partition", "it has no partition")
        topics = tuple(
            replace(topic, partitions=tuple(_unread(part, code) for part in topic.partitions))
            for topic in message.responses
        )
        return replace(message, responses=topics)

    return fail


def unstable_offsets(code: int) -> Change:
    """Return the change that makes an OffsetFetch response hold every offset back, as while a transaction is open.

    The error is that of each partition, never of the response or its group. A client that could not ask for stable
    offsets, before version 7, is never told: CannotRewrite.
    """

    def hold(message: Any) -> Any:
        if message.__version__ < _STABLE_FROM_VERSION:
            raise CannotRewrite("no-stable-offsets", "no request of this version asks for stable offsets")
        return hold_back(message)

    def hold_back(part: Any) -> Any:
        names = {field.name for field in fields(part)}
        if "committed_offset" in names:
            values = {name: value for name, value in _NO_OFFSET.items() if name in names}
            return replace(part, error_code=ErrorCode(code), **values)
        return replace(part, **{name: _each(getattr(part, name), hold_back) for name in names})

    return hold


def throttle_time(throttle_ms: int) -> Change:
    """Return the change that sets the throttle time. A version without that field raises CannotRewrite."""

    def throttle(message: Any) -> Any:
        if not any(field.name == "throttle_time" for field in fields(message)):
            raise CannotRewrite("no-throttle-time", "this version has no throttle time")
        return replace(message, throttle_time=i32Timedelta.parse(timedelta(milliseconds=throttle_ms)))

    return throttle


def leaders(leader_id: int, epochs_back: int = 0) -> Change:
    """Return the change that makes ``leader_id`` the leader of every partition in Metadata, in an older epoch.

    A response that does not list this broker stays unchanged, because even a stale broker names no leader that never
    existed.
    """

    def lead(message: Any) -> Any:
        if leader_id not in {broker.node_id for broker in message.brokers}:
            return message
        return _in_topics(message, lambda part: _led(part, leader_id, epochs_back))

    return lead


def without_broker(node_id: int) -> Change:
    """Return the change that removes a broker from the Metadata response, but keeps it as a leader."""
    return lambda message: replace(
        message, brokers=tuple(broker for broker in message.brokers if broker.node_id != node_id)
    )


def other_correlation_id(payload: bytes) -> bytes:
    """Return the payload with a correlation id that no request had: all bits but the sign are inverted."""
    changed = int.from_bytes(payload[:_CORRELATION_BYTES]) ^ 0x7FFF_FFFF
    return changed.to_bytes(_CORRELATION_BYTES) + payload[_CORRELATION_BYTES:]


def unsupported_version(payload: bytes) -> bytes:
    """Return ApiVersions v0 with UNSUPPORTED_VERSION, the response to a request of too high a version (KIP-511)."""
    correlation_id = int.from_bytes(payload[:_CORRELATION_BYTES], signed=True)
    answer = make(
        message_class(Api.API_VERSIONS, 0, "response"), error_code=ErrorCode.unsupported_version, api_keys=()
    )
    return encode_response(answer, correlation_id)[SIZE_BYTES:]


def _unread(part: Any, code: int) -> Any:
    names = {field.name for field in fields(part)}
    unread = {name: value for name, value in _UNREAD.items() if name in names}
    return replace(part, error_code=ErrorCode(code), **unread)


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
