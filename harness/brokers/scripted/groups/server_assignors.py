"""The server-side assignors of KIP-848: ``uniform`` keeps what members have, ``range`` keeps topics side by side.

They follow ``UniformHomogeneousAssignmentBuilder`` and ``RangeAssignor``. Members come in the order of their ids, where
Kafka takes the order of a hash map. If members subscribe to different topics, ``uniform`` balances more simply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

Partition = tuple[UUID, int]
Assignment = frozenset[Partition]


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member: its topics, its target so far, and its instance id."""

    topics: frozenset[UUID]
    target: Assignment = frozenset()
    instance_id: str | None = None


Assignor = Callable[[Mapping[str, Subscriber], Mapping[UUID, int]], dict[str, Assignment]]
"""Assigns all partitions of the topics (id -> number of partitions) to members (id -> what is known of it)."""


def uniform(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> dict[str, Assignment]:
    """Give every member as many partitions as the others, and move as few as possible."""
    subscriptions = {member.topics for member in members.values()}
    return _alike(members, topics) if len(subscriptions) == 1 else _unlike(members, topics)


def _alike(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> dict[str, Assignment]:
    subscribed = sorted(next(iter(members.values())).topics & topics.keys())
    everything = [(topic, index) for topic in subscribed for index in range(topics[topic])]
    held = {partition for member in members.values() for partition in member.target}
    free = [partition for partition in everything if partition not in held]
    least, extra = divmod(len(everything), len(members))
    own: dict[str, list[Partition]] = {}
    missing: dict[str, int] = {}
    for at, member_id in enumerate(sorted(members)):
        has_extra = extra > 0
        quota = least + has_extra
        usable = sorted(each for each in members[member_id].target if each in set(everything))
        own[member_id] = usable[:quota]
        free += usable[quota:]
        missing[member_id] = quota - len(own[member_id])
        if missing[member_id] and has_extra and len(members) - at > extra:
            # A later member may have one partition more already.
            missing[member_id] -= 1
            has_extra = False
        extra -= has_extra
    for member_id, count in missing.items():
        own[member_id] += free[:count]
        del free[:count]
    return {member_id: frozenset(each) for member_id, each in own.items()}


def _unlike(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> dict[str, Assignment]:
    """Keep what is held, give the rest to the members with least, and then level those that differ by more than one."""
    own: dict[str, set[Partition]] = {member_id: set() for member_id in members}
    readers: dict[UUID, list[str]] = {
        topic: [member_id for member_id in sorted(members) if topic in members[member_id].topics]
        for topic in sorted(topics)
    }
    for topic, possible in readers.items():
        for index in range(topics[topic]) if possible else ():
            holder = next((each for each in possible if (topic, index) in members[each].target), None)
            taker = holder or min(possible, key=lambda each: (len(own[each]), each))
            own[taker].add((topic, index))
    while (move := _levelling(own, readers)) is not None:
        partition, giver, taker = move
        own[giver].remove(partition)
        own[taker].add(partition)
    return {member_id: frozenset(each) for member_id, each in own.items()}


def _levelling(
    own: Mapping[str, set[Partition]], readers: Mapping[UUID, list[str]]
) -> tuple[Partition, str, str] | None:
    for giver in sorted(own, key=lambda each: (-len(own[each]), each)):
        for partition in sorted(own[giver]):
            taker = min(readers[partition[0]], key=lambda each: (len(own[each]), each))
            if len(own[giver]) - len(own[taker]) > 1:
                return partition, giver, taker
    return None


def range_(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> dict[str, Assignment]:
    """Give every member of a topic a range of its partitions. Static members come first, by their instance ids."""
    order = sorted(members, key=lambda each: _rank(each, members[each]))
    own: dict[str, set[Partition]] = {member_id: set() for member_id in order}
    for topic, count in topics.items():
        readers = [member_id for member_id in order if topic in members[member_id].topics]
        if not readers:
            continue
        least, extra = divmod(count, len(readers))
        start = 0
        for at, member_id in enumerate(readers):
            end = start + least + (at < extra)
            own[member_id].update((topic, index) for index in range(start, end))
            start = end
    return {member_id: frozenset(each) for member_id, each in own.items()}


def _rank(member_id: str, member: Subscriber) -> tuple[bool, str]:
    is_dynamic = member.instance_id is None
    return is_dynamic, member_id if member.instance_id is None else member.instance_id


#: By name; the first one is the default (``group.consumer.assignors``).
ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform, "range": range_}
