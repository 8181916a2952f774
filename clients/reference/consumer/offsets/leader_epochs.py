"""OffsetForLeaderEpoch: where the leader's log of an epoch ends (KIP-320)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from clients.reference.common.requests import Message
from clients.reference.consumer.errors import TopicAuthorizationError
from clients.reference.consumer.subscription.positions import FetchPosition
from clients.reference.metadata.topic_metadata import NO_EPOCH, TopicPartition
from harness.wire.apis import Api
from harness.wire.error_table import error_for
from harness.wire.messages import make, message_class, nested

_CONSUMER = -1


class EpochEnds(msgspec.Struct, frozen=True):
    """A response: (end offset, epoch) by partition, -1 for what the leader does not know, and what to ask again."""

    ends: Mapping[TopicPartition, tuple[int, int]]
    retry: Collection[TopicPartition]


def leader_epoch_request(positions: Mapping[TopicPartition, FetchPosition]) -> Callable[[int], Message]:
    """Return a builder of requests for the ends of the positions' epochs."""
    topics: dict[str, list[tuple[int, FetchPosition]]] = {}
    for (topic, index), position in positions.items():
        topics.setdefault(topic, []).append((index, position))

    def build(version: int) -> Message:
        kind = message_class(Api.OFFSET_FOR_LEADER_EPOCH, version, "request")
        topic_kind, partition_kind = (
            nested(kind, "OffsetForLeaderTopic"),
            nested(kind, "OffsetForLeaderPartition"),
        )
        return make(
            kind,
            replica_id=_CONSUMER,
            topics=tuple(
                make(
                    topic_kind,
                    topic=topic,
                    partitions=tuple(
                        make(
                            partition_kind,
                            partition=index,
                            current_leader_epoch=_or_none(position.leader.epoch),
                            leader_epoch=_or_none(position.offset_epoch),
                        )
                        for index, position in parts
                    ),
                )
                for topic, parts in topics.items()
            ),
        )

    return build


def _or_none(epoch: int | None) -> int:
    return NO_EPOCH if epoch is None else epoch


def epoch_ends(asked: Collection[TopicPartition], body: Message) -> EpochEnds:
    """Return a response as values. Raise TopicAuthorizationError if the client may not read a topic.

    Every other error, and a partition that is missing, is worth another attempt.
    """
    ends: dict[TopicPartition, tuple[int, int]] = {}
    forbidden: set[str] = set()
    for topic in body.topics:
        for part in topic.partitions:
            error = error_for(int(part.error_code))
            if error.name == "TOPIC_AUTHORIZATION_FAILED":
                forbidden.add(topic.topic)
            elif not error.code and (topic.topic, int(part.partition)) in asked:
                ends[topic.topic, int(part.partition)] = (part.end_offset, part.leader_epoch)
    if forbidden:
        raise TopicAuthorizationError(forbidden)
    return EpochEnds(ends, [partition for partition in asked if partition not in ends])
