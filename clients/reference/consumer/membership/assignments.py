"""What a member should have and what it has, by topic id, and how ids become names (LocalAssignment in Java)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from clients.reference.common.requests import Message
from clients.reference.consumer.subscription.positions import TopicPartition

IdPartitions = frozenset[tuple[UUID, int]]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Partitions by topic id. ``number`` tells an assignment from an equal one that came before it.

    A member acknowledges each assignment, also one that it had some heartbeats ago.
    """

    number: int = -1
    partitions: IdPartitions = frozenset()

    @property
    def is_none(self) -> bool:
        """Whether the member has not had any assignment since it joined."""
        return self.number < 0


NO_ASSIGNMENT = Assignment()


def told(assignment: Message) -> IdPartitions:
    """Return the partitions of a heartbeat response."""
    return frozenset(
        (each.topic_id, int(index)) for each in assignment.topic_partitions for index in each.partitions
    )


def grouped(partitions: Iterable[tuple[UUID, int]]) -> dict[UUID, tuple[int, ...]]:
    """Return the partitions' numbers by topic id, both sorted."""
    by_id: dict[UUID, tuple[int, ...]] = {}
    for topic_id, index in sorted(partitions):
        by_id[topic_id] = (*by_id.get(topic_id, ()), index)
    return by_id


def resolved(
    partitions: IdPartitions, names: Mapping[UUID, str]
) -> tuple[IdPartitions, frozenset[TopicPartition]]:
    """Return the partitions whose topic has a known name, by id and by name."""
    known = frozenset(each for each in partitions if each[0] in names)
    return known, frozenset((names[topic_id], index) for topic_id, index in known)
