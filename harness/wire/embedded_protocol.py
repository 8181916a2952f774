"""The bytes that members of a classic group exchange, as far as others read them (``ConsumerProtocol``).

A coordinator reads subscriptions to keep offsets of topics that are read, and both kinds to turn a group into one of
KIP-848. The witness reads assignments.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from functools import cache
from typing import Any, Final, NamedTuple

from kio.index import load_entity_schema
from kio.static.constants import EntityType

from harness.wire.errors import WireError
from harness.wire.messages import make, nested
from harness.wire.readers import entity_reader
from harness.wire.writers import entity_writer

HIGHEST_VERSION: Final = 3
_VERSION: Final = struct.Struct(">h")
_SUBSCRIPTION, _ASSIGNMENT = "consumer_protocol_subscription", "consumer_protocol_assignment"

Place = tuple[str, int]
"""A topic's name and a partition."""


class Subscription(NamedTuple):
    """A member's topics, and the partitions that it says it owns: none before version 1."""

    topics: frozenset[str]
    owned: frozenset[Place]


class Assignment(NamedTuple):
    """What a leader assigned to a member. ``user_data`` is that of its assignor."""

    places: frozenset[Place]
    user_data: bytes


def read_subscription(metadata: bytes) -> Subscription:
    """Decode a member's metadata. Raises WireError for other bytes."""
    message = _decoded(_SUBSCRIPTION, metadata)
    return Subscription(frozenset(message.topics), _places(getattr(message, "owned_partitions", ())))


def read_assignment(assignment: bytes) -> Assignment:
    """Decode a member's assignment; no bytes are an empty one. Raises WireError for bytes that are none."""
    if not assignment:
        return Assignment(frozenset(), b"")
    message = _decoded(_ASSIGNMENT, assignment)
    return Assignment(_places(message.assigned_partitions), bytes(message.user_data or b""))


def write_assignment(places: Collection[Place], metadata: bytes) -> bytes:
    """Encode an assignment in the version of the member's metadata. Raises WireError for metadata without one."""
    version = min(_version(metadata), HIGHEST_VERSION)
    entity = _entity(_ASSIGNMENT, version)
    topics = sorted({topic for topic, _ in places})
    of_topic = nested(entity, "TopicPartition")
    assigned = tuple(
        of_topic(topic=topic, partitions=tuple(sorted(index for name, index in places if name == topic)))
        for topic in topics
    )
    message = make(entity, assigned_partitions=assigned, user_data=None)
    return _VERSION.pack(version) + entity_writer(entity)(message)


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size or (version := _VERSION.unpack_from(data)[0]) < 0:
        raise WireError("embedded-version-missing", "{count} bytes have no version", count=len(data))
    return int(version)


@cache
def _entity(name: str, version: int) -> Any:
    return load_entity_schema(name, version, EntityType.data)


def _decoded(name: str, data: bytes) -> Any:
    entity = _entity(name, min(_version(data), HIGHEST_VERSION))
    message, end, _ = entity_reader(entity)(data, _VERSION.size)
    if end > len(data):
        raise WireError(
            "embedded-message-cut-off",
            "{name} is cut off: {end} bytes were claimed, there are {count}",
            name=name,
            end=end,
            count=len(data),
        )
    return message


def _places(topics: Collection[Any]) -> frozenset[Place]:
    return frozenset((each.topic, int(index)) for each in topics for index in each.partitions)
