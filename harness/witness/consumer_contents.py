"""Extract the facts that evidence needs from the messages of a consumer: its group, its positions, its fetch sessions.

Each API has one function for its request and one for its response. They return the parts of a row, without the data of
records. Messages are ``kio``'s dataclasses of any version: a field that a version lacks is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from harness.limits.frames import MAX_PARTS, MAX_TEXT
from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.wire.apis import Api
from harness.wire.embedded_protocol import read_assignment
from harness.wire.errors import WireError

_MS: Final = timedelta(milliseconds=1)
#: Fields of ConsumerGroupHeartbeat that are null if they have not changed (KIP-848).
OPTIONAL: Final = (
    "subscribed_topic_names",
    "subscribed_topic_regex",
    "server_assignor",
    "topic_partitions",
)
#: The flag of OffsetFetch that asks for no offset which an open transaction is about to replace (KIP-447).
STABLE: Final = "require_stable"
#: The least that a partition of an assignment takes.
PARTITION_BYTES: Final = 4
Names = Mapping[UUID, str]


class ConsumerParts(NamedTuple):
    """The parts of one frame. ``is_cut`` is True if there were more than ``MAX_PARTS`` of a kind."""

    members: tuple[MemberPart, ...] = ()
    coordinators: tuple[CoordinatorPart, ...] = ()
    fetch: FetchPart | None = None
    offsets: tuple[OffsetPart, ...] = ()
    is_cut: bool = False


NO_PARTS: Final = ConsumerParts()
Part = TypeVar("Part")
Read = Callable[[Any, Names], ConsumerParts]


def asked(api_key: int, message: Any, names: Names) -> ConsumerParts:
    """Return the parts of a request, if its API is one of a consumer."""
    read = REQUESTS.get(api_key)
    return NO_PARTS if read is None else read(message, names)


def answered(api_key: int, message: Any, names: Names) -> ConsumerParts:
    """Return the parts of a response, if its API is one of a consumer."""
    read = RESPONSES.get(api_key)
    return NO_PARTS if read is None else read(message, names)


def assigned(api_key: int, message: Any) -> int:
    """Return the most partitions that the assignments of a message, which are messages themselves, can contain."""
    if api_key != Api.SYNC_GROUP:
        return 0
    assignments = getattr(message, "assignments", None)
    given = [message.assignment] if assignments is None else [each.assignment for each in assignments]
    return sum(map(len, given)) // PARTITION_BYTES


def topic_name(topic: Any, names: Names) -> str:
    """Return the name of a topic in any message: it has a name, or an id whose name may be known."""
    for field in ("name", "topic"):
        if hasattr(topic, field):
            return _cut(str(getattr(topic, field)))
    return names.get(topic.topic_id) or str(topic.topic_id)


def _parts(
    members: Iterable[MemberPart] = (),
    coordinators: Iterable[CoordinatorPart] = (),
    fetch: FetchPart | None = None,
    offsets: Iterable[OffsetPart] = (),
) -> ConsumerParts:
    of_members, more_members = _limited(members)
    of_keys, more_keys = _limited(coordinators)
    of_partitions, more_partitions = _limited(offsets)
    is_cut = more_members or more_keys or more_partitions
    return ConsumerParts(of_members, of_keys, fetch, of_partitions, is_cut)


def _limited(parts: Iterable[Part]) -> tuple[tuple[Part, ...], bool]:
    """Return the first parts, and whether there are more."""
    left = iter(parts)
    first = tuple(islice(left, MAX_PARTS))
    return first, next(left, None) is not None


# The group's APIs


def _member(message: Any, **more: Any) -> MemberPart:
    """Return the member that a message is about, by the fields of the same names."""
    epoch = _first(message, "generation_id", "generation_id_or_member_epoch", "member_epoch")
    return MemberPart(
        _text(message, "group_id"),
        _text(message, "member_id"),
        epoch,
        _text(message, "group_instance_id") or _text(message, "instance_id"),
        _text(message, "protocol_name"),
        leader=_text(message, "leader"),
        session_timeout_ms=_ms(message, "session_timeout"),
        rebalance_timeout_ms=_ms(message, "rebalance_timeout"),
        heartbeat_interval_ms=_ms(message, "heartbeat_interval"),
        error_code=_number(message, "error_code"),
        **more,
    )


def _of_member(message: Any, _: Names) -> ConsumerParts:
    return _parts([_member(message)])


def _join_asked(message: Any, _: Names) -> ConsumerParts:
    offered = tuple([_cut(each.name) for each in message.protocols[:MAX_PARTS]])
    return _parts([_member(message, protocols=offered)])


def _sync_asked(message: Any, _: Names) -> ConsumerParts:
    said = ("assignments",) if message.assignments else ()
    return _with_assignments(_member(message, said=said), (each.assignment for each in message.assignments))


def _sync_answered(message: Any, _: Names) -> ConsumerParts:
    said = ("assignment",) if message.assignment else ()
    return _with_assignments(_member(message, said=said), (message.assignment,))


def _with_assignments(member: MemberPart, assignments: Iterable[bytes]) -> ConsumerParts:
    """Return the parts with all assigned partitions. They are cut if one is not an assignment of Kafka's consumers."""
    try:
        found = _parts([member], offsets=_given(assignments))
    except WireError:
        return _parts([member])._replace(is_cut=True)
    return found


def _given(assignments: Iterable[bytes]) -> Iterator[OffsetPart]:
    for each in assignments:
        for topic, partition in sorted(read_assignment(bytes(each)).places):
            yield OffsetPart(_cut(topic), partition)


def _leave(message: Any, _: Names) -> ConsumerParts:
    group, whole = _text(message, "group_id"), _number(message, "error_code")
    if not hasattr(message, "members") or (whole is not None and not message.members):
        return _parts([_member(message)])
    return _parts(
        MemberPart(
            group,
            _text(each, "member_id"),
            instance_id=_text(each, "group_instance_id"),
            error_code=whole or _number(each, "error_code"),
        )
        for each in message.members
    )


def _heartbeat_asked(message: Any, names: Names) -> ConsumerParts:
    said = tuple([name for name in OPTIONAL if getattr(message, name, None) is not None])
    owned = _assigned(message.topic_partitions or (), names)
    return _parts([_member(message, said=said)], offsets=owned)


def _heartbeat_answered(message: Any, names: Names) -> ConsumerParts:
    given = message.assignment.topic_partitions if message.assignment is not None else ()
    said = ("assignment",) if message.assignment is not None else ()
    return _parts([_member(message, said=said)], offsets=_assigned(given, names))


def _assigned(topics: Iterable[Any], names: Names) -> Iterator[OffsetPart]:
    for topic in topics:
        name = topic_name(topic, names)
        yield from (OffsetPart(name, int(partition)) for partition in topic.partitions)


def _coordinator_asked(message: Any, _: Names) -> ConsumerParts:
    keys = message.coordinator_keys if hasattr(message, "coordinator_keys") else (message.key,)
    kind = _number(message, "key_type")
    return _parts(coordinators=(CoordinatorPart(_cut(key), kind) for key in keys))


def _coordinator_answered(message: Any, _: Names) -> ConsumerParts:
    return _parts(
        coordinators=(
            CoordinatorPart(
                _text(each, "key"), node=int(each.node_id), error_code=_number(each, "error_code")
            )
            for each in getattr(message, "coordinators", (message,))
        )
    )


# Offsets


def _commit_asked(message: Any, names: Names) -> ConsumerParts:
    return _parts([_member(message)], offsets=_places(message.topics, names))


def _offsets_asked(message: Any, names: Names) -> ConsumerParts:
    groups = getattr(message, "groups", (message,))
    indexes = (
        OffsetPart(topic_name(topic, names), int(index))
        for group in groups
        for topic in group.topics or ()
        for index in topic.partition_indexes
    )
    said = (STABLE,) if getattr(message, STABLE, False) else ()
    return _parts((_member(group, said=said) for group in groups), offsets=indexes)


def _offsets_answered(message: Any, names: Names) -> ConsumerParts:
    groups = getattr(message, "groups", (message,))
    found = (part for group in groups for part in _places(group.topics, names))
    return _parts(map(_member, groups), offsets=found)


def _of_topics(message: Any, names: Names) -> ConsumerParts:
    return _parts(offsets=_places(message.topics, names))


def _places(topics: Iterable[Any], names: Names) -> Iterator[OffsetPart]:
    for topic in topics:
        name = topic_name(topic, names)
        for part in topic.partitions:
            yield OffsetPart(
                name,
                _index(part),
                _first(part, "fetch_offset", "committed_offset", "end_offset", "offset"),
                _first(part, "last_fetched_epoch", "committed_leader_epoch", "leader_epoch"),
                _number(part, "current_leader_epoch"),
                _number(part, "timestamp"),
                error_code=_number(part, "error_code"),
            )


# Fetch


def _fetch_asked(message: Any, names: Names) -> ConsumerParts:
    forgotten = (
        OffsetPart(topic_name(topic, names), int(partition), forgotten=True)
        for topic in getattr(message, "forgotten_topics_data", ())
        for partition in topic.partitions
    )
    return _parts(
        fetch=FetchPart(
            _number(message, "session_id"),
            _number(message, "session_epoch"),
            _number(message, "max_bytes"),
            int(message.min_bytes),
            _ms(message, "max_wait"),
            _number(message, "isolation_level"),
        ),
        offsets=_chain(_places(message.topics, names), forgotten),
    )


def _fetch_answered(message: Any, names: Names) -> ConsumerParts:
    fetch = FetchPart(_number(message, "session_id"), error_code=_number(message, "error_code"))
    return _parts(fetch=fetch, offsets=_fetched(message, names))


def _fetched(message: Any, names: Names) -> Iterator[OffsetPart]:
    for topic in message.responses:
        name = topic_name(topic, names)
        for part in topic.partitions:
            diverges = getattr(part, "diverging_epoch", None)
            leader = getattr(part, "current_leader", None)
            yield OffsetPart(
                name,
                int(part.partition_index),
                None if diverges is None or diverges.epoch < 0 else int(diverges.end_offset),
                None if diverges is None or diverges.epoch < 0 else int(diverges.epoch),
                None if leader is None or leader.leader_epoch < 0 else int(leader.leader_epoch),
                high_watermark=int(part.high_watermark),
                data_bytes=len(part.records or b""),
                error_code=int(part.error_code),
            )


# Fields


def _index(part: Any) -> int:
    return int(part.partition_index if hasattr(part, "partition_index") else part.partition)


def _chain(*parts: Iterable[OffsetPart]) -> Iterator[OffsetPart]:
    for each in parts:
        yield from each


def _first(message: Any, *fields: str) -> int | None:
    """Return the first of these fields that the message has."""
    return next((int(getattr(message, field)) for field in fields if hasattr(message, field)), None)


def _number(message: Any, field: str) -> int | None:
    value = getattr(message, field, None)
    return None if value is None else int(value)


def _ms(message: Any, field: str) -> int | None:
    value = getattr(message, field, None)
    return None if value is None else value // _MS


def _text(message: Any, field: str) -> str | None:
    value = getattr(message, field, None)
    return None if value is None else _cut(str(value))


def _cut(text: str) -> str:
    return text[:MAX_TEXT]


REQUESTS: Final[Mapping[int, Read]] = {
    Api.FETCH: _fetch_asked,
    Api.LIST_OFFSETS: _of_topics,
    Api.OFFSET_COMMIT: _commit_asked,
    Api.OFFSET_FETCH: _offsets_asked,
    Api.FIND_COORDINATOR: _coordinator_asked,
    Api.JOIN_GROUP: _join_asked,
    Api.HEARTBEAT: _of_member,
    Api.LEAVE_GROUP: _leave,
    Api.SYNC_GROUP: _sync_asked,
    Api.OFFSET_FOR_LEADER_EPOCH: _of_topics,
    Api.CONSUMER_GROUP_HEARTBEAT: _heartbeat_asked,
}
RESPONSES: Final[Mapping[int, Read]] = {
    Api.FETCH: _fetch_answered,
    Api.LIST_OFFSETS: _of_topics,
    Api.OFFSET_COMMIT: _of_topics,
    Api.OFFSET_FETCH: _offsets_answered,
    Api.FIND_COORDINATOR: _coordinator_answered,
    Api.JOIN_GROUP: _of_member,
    Api.HEARTBEAT: _of_member,
    Api.LEAVE_GROUP: _leave,
    Api.SYNC_GROUP: _sync_answered,
    Api.OFFSET_FOR_LEADER_EPOCH: _of_topics,
    Api.CONSUMER_GROUP_HEARTBEAT: _heartbeat_answered,
}
