"""The interface of an assignor: the leader of a classic group asks it which member reads which partition.

An assignor sees the metadata of the topics and the subscription of every member. It returns the partitions of every
member, and an empty list for a member without any. Where Java iterates over a HashMap, an assignor here iterates in the
order of the mapping that it was given, so its result is the same in every process.

Source: ConsumerPartitionAssignor and AbstractPartitionAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from clients.reference.metadata.topic_metadata import TopicPartition

__all__ = [
    "Assignment",
    "Assignor",
    "PartitionInfo",
    "PartitionsPerTopic",
    "RebalanceProtocol",
    "Subscription",
    "TopicPartition",
    "by_topic",
    "members_in_order",
    "racks_matter",
    "racks_of",
]


class RebalanceProtocol(IntEnum):
    """How members give up partitions (KIP-429). The value is the id of RebalanceProtocol in Java."""

    EAGER = 0
    """A member gives up all of its partitions before it joins."""
    COOPERATIVE = 1
    """A member keeps its partitions, and gives up only those that the assignment takes from it."""


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """A partition's number, and the racks of all its replicas (also of those that are offline)."""

    partition: int
    racks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member tells the leader. ``generation_id`` is None before its first generation."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation_id: int | None = None
    rack_id: str | None = None
    group_instance_id: str | None = None


PartitionsPerTopic = Mapping[str, Sequence[PartitionInfo]]
"""The partitions of each topic in ascending order. Topics without metadata are left out."""
Assignment = dict[str, list[TopicPartition]]
"""The partitions of each member, by member id."""


class Assignor(Protocol):
    """One strategy of ``partition.assignment.strategy``. A consumer uses one instance for all of its generations."""

    @property
    def name(self) -> str:
        """The name in JoinGroup, by which the group selects an assignor that all members support."""

    @property
    def supported_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The protocols under which this assignor can be used, preferred first."""

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return what this member adds to its subscription for the assignor of the leader."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Assignment:
        """Return the assignment of the whole group. Only the leader calls it. ``subscriptions`` is by member id."""

    def on_assignment(self, assignment: Sequence[TopicPartition], generation: int) -> None:
        """Tell the assignor what this member was assigned in a generation. Every member calls it."""


def members_in_order(subscriptions: Mapping[str, Subscription]) -> list[str]:
    """Return the member ids: static members first, by instance id, then the others by member id (MemberInfo).

    An instance id survives a restart and the member id does not, so restarts of static members change nothing.
    """

    def rank(member: str) -> tuple[bool, str]:
        instance = subscriptions[member].group_instance_id
        return instance is None, member if instance is None else instance

    return sorted(subscriptions, key=rank)


def racks_of(subscriptions: Mapping[str, Subscription]) -> dict[str, str]:
    """Return the rack of each member that has one. An empty string means none."""
    return {member: told.rack_id for member, told in subscriptions.items() if told.rack_id}


def racks_matter(member_racks: Iterable[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Return whether racks can improve an assignment (KIP-881).

    They cannot if no member is in a rack that has a replica, or if every partition has replicas in all of these racks.
    """
    racks = list(partition_racks)
    everywhere = frozenset().union(*racks)
    return not everywhere.isdisjoint(member_racks) and any(rack != everywhere for rack in racks)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partitions by topic. Topics and partitions keep their order."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped
