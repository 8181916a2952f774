"""ListOffsets: the offset of a time, of the beginning or of the end of a partition, from its leader."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from clients.reference.common.requests import Message
from clients.reference.consumer.errors import TopicAuthorizationError
from clients.reference.consumer.fetch.fetch_request import ISOLATION_LEVELS
from clients.reference.metadata.topic_metadata import NO_EPOCH, TopicPartition
from harness.wire.apis import Api
from harness.wire.error_table import error_for
from harness.wire.messages import make, message_class, nested

#: Times that are not times, in the place of Unix time in ms.
LATEST, EARLIEST = -1, -2
LOWEST = 1
LOWEST_COMMITTED = 2  # the first version with an isolation level
_UNKNOWN = -1
_CONSUMER = -1


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a time: its offset, its Unix time in ms, and its leader epoch, None if unknown."""

    offset: int
    timestamp_ms: int
    leader_epoch: int | None = None


class ListedOffset(msgspec.Struct, frozen=True):
    """What to ask of one partition: a time, and the leader epoch that the client knows, -1 if none."""

    timestamp_ms: int
    leader_epoch: int = NO_EPOCH


class ListedOffsets(msgspec.Struct, frozen=True):
    """A response. A partition without a record at or after its time is in neither part."""

    found: Mapping[TopicPartition, OffsetAndTimestamp]
    retry: Collection[TopicPartition]


def lowest_version(isolation_level: str) -> int:
    """Return the first version that has what a consumer of this isolation level needs."""
    return LOWEST_COMMITTED if ISOLATION_LEVELS[isolation_level] else LOWEST


def list_offsets_request(
    wanted: Mapping[TopicPartition, ListedOffset], *, isolation_level: str, timeout_ms: int
) -> Callable[[int], Message]:
    """Return a builder of ListOffsets requests for these partitions."""
    topics: dict[str, list[tuple[int, ListedOffset]]] = {}
    for (topic, index), each in wanted.items():
        topics.setdefault(topic, []).append((index, each))

    def build(version: int) -> Message:
        kind = message_class(Api.LIST_OFFSETS, version, "request")
        topic_kind, partition_kind = nested(kind, "ListOffsetsTopic"), nested(kind, "ListOffsetsPartition")
        return make(
            kind,
            replica_id=_CONSUMER,
            isolation_level=ISOLATION_LEVELS[isolation_level],
            topics=tuple(
                make(
                    topic_kind,
                    name=topic,
                    partitions=tuple(
                        make(
                            partition_kind,
                            partition_index=index,
                            current_leader_epoch=each.leader_epoch,
                            timestamp=each.timestamp_ms,
                        )
                        for index, each in parts
                    ),
                )
                for topic, parts in topics.items()
            ),
            timeout=timedelta(milliseconds=timeout_ms),
        )

    return build


def listed_offsets(body: Message) -> ListedOffsets:
    """Return a response as values. Raise TopicAuthorizationError if the client may not read a topic.

    Every other error is worth another attempt, except that a log in an old format cannot be searched by time.
    """
    found: dict[TopicPartition, OffsetAndTimestamp] = {}
    retry: list[TopicPartition] = []
    forbidden: set[str] = set()
    for topic in body.topics:
        for part in topic.partitions:
            partition, error = (topic.name, int(part.partition_index)), error_for(int(part.error_code))
            if error.name == "TOPIC_AUTHORIZATION_FAILED":
                forbidden.add(topic.name)
            elif error.code and error.name != "UNSUPPORTED_FOR_MESSAGE_FORMAT":
                retry.append(partition)
            elif not error.code and part.offset != _UNKNOWN:
                epoch = getattr(part, "leader_epoch", NO_EPOCH)
                found[partition] = OffsetAndTimestamp(
                    part.offset, part.timestamp, None if epoch == NO_EPOCH else epoch
                )
    if forbidden:
        raise TopicAuthorizationError(forbidden)
    return ListedOffsets(found, retry)
