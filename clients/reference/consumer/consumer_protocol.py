"""The bytes that members and leader of a classic group exchange: subscriptions and assignments (ConsumerProtocol).

The broker passes them on without reading them. A version precedes each message. A version above the highest known one
is read like the highest, because new versions only add fields at the end. Bytes after a message are therefore ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kio.index import load_entity_schema
from kio.static.constants import EntityType

from clients.reference.consumer.assignors.assignor import Subscription, TopicPartition, by_topic
from harness.wire.errors import WireError
from harness.wire.messages import make, nested
from harness.wire.primitives import Data
from harness.wire.readers import entity_reader
from harness.wire.writers import entity_writer

PROTOCOL_TYPE: Final = "consumer"
"""The protocol type in JoinGroup. All members of a group have the same."""
LOWEST_VERSION: Final = 0
HIGHEST_VERSION: Final = 3
_VERSION: Final = struct.Struct(">h")
_NO_GENERATION: Final = -1
_SUBSCRIPTION, _ASSIGNMENT = "consumer_protocol_subscription", "consumer_protocol_assignment"


@dataclass(frozen=True, slots=True)
class AssignedPartitions:
    """What the leader assigned to one member, in the leader's order, and the data of its assignor."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = HIGHEST_VERSION) -> bytes:
    """Encode a member's subscription. Fields that ``version`` lacks are left out.

    Owned partitions exist from version 1 on, the generation from 2, the rack from 3. The instance id is not included:
    JoinGroup has it. Raises WireError for an unknown version.
    """
    entity = _entity(_SUBSCRIPTION, version)
    generation = subscription.generation_id
    message = make(
        entity,
        topics=tuple(sorted(subscription.topics)),
        user_data=subscription.user_data,
        owned_partitions=_by_topic(entity, sorted(subscription.owned_partitions)),
        generation_id=_NO_GENERATION if generation is None else generation,
        rack_id=subscription.rack_id,
    )
    return _encoded(version, message)


def decode_subscription(data: Data) -> Subscription:
    """Decode a member's subscription of any version. Raises WireError for bytes that are none."""
    message = _decoded(_SUBSCRIPTION, data)
    generation = getattr(message, "generation_id", _NO_GENERATION)
    return Subscription(
        topics=tuple(message.topics),
        user_data=_copied(message.user_data),
        owned_partitions=tuple(_flat(getattr(message, "owned_partitions", ()))),
        generation_id=None if generation < 0 else generation,
        rack_id=getattr(message, "rack_id", None) or None,
    )


def encode_assignment(
    partitions: Iterable[TopicPartition], user_data: bytes | None = None, version: int = HIGHEST_VERSION
) -> bytes:
    """Encode what one member was assigned. Topics keep the order of their first partitions.

    Raises WireError for an unknown version.
    """
    entity = _entity(_ASSIGNMENT, version)
    assigned = _by_topic(entity, partitions)
    return _encoded(version, make(entity, assigned_partitions=assigned, user_data=user_data))


def decode_assignment(data: Data) -> AssignedPartitions:
    """Decode what one member was assigned, of any version. Raises WireError for bytes that are none."""
    message = _decoded(_ASSIGNMENT, data)
    return AssignedPartitions(tuple(_flat(message.assigned_partitions)), _copied(message.user_data))


@cache
def _entity(name: str, version: int) -> Any:
    if not LOWEST_VERSION <= version <= HIGHEST_VERSION:
        raise WireError(
            "unknown-version",
            "{api} version {version} is not known: {lowest} to {highest} are",
            api=name,
            version=version,
            lowest=LOWEST_VERSION,
            highest=HIGHEST_VERSION,
        )
    return load_entity_schema(name, version, EntityType.data)


def _encoded(version: int, message: Any) -> bytes:
    entity: Any = type(message)
    return _VERSION.pack(version) + entity_writer(entity)(message)


def _decoded(name: str, data: Data) -> Any:
    if len(data) < _VERSION.size:
        raise _cut_off(name, _VERSION.size, len(data))
    (version,) = _VERSION.unpack_from(data)
    entity = _entity(name, min(version, HIGHEST_VERSION))
    message, end, _ = entity_reader(entity)(data, _VERSION.size)
    if end > len(data):
        raise _cut_off(name, end, len(data))
    return message


def _cut_off(name: str, claimed: int, count: int) -> WireError:
    return WireError(
        "message-cut-off",
        "{name} is cut off: {end} bytes were claimed, there are {count}",
        name=name,
        end=claimed,
        count=count,
    )


def _by_topic(entity: Any, partitions: Iterable[TopicPartition]) -> tuple[Any, ...]:
    if not hasattr(entity, "owned_partitions") and not hasattr(entity, "assigned_partitions"):
        return ()
    of_topic = nested(entity, "TopicPartition")
    return tuple(
        of_topic(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic(partitions).items()
    )


def _flat(topics: Iterable[Any]) -> Iterator[TopicPartition]:
    for of_topic in topics:
        for partition in of_topic.partitions:
            yield of_topic.topic, partition


def _copied(data: Data | None) -> bytes | None:
    return None if data is None else bytes(data)
