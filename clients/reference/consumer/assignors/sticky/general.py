"""The algorithm for members that subscribe to different topics.

Members keep what they owned. Every other partition goes to the interested member with the fewest partitions. Then
partitions move, one at a time, to members with at least two fewer, until no move improves the balance. A partition
whose owner missed a generation prefers to return to its previous owner.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    Subscription,
    TopicPartition,
)
from clients.reference.consumer.assignors.sticky.movements import Movements
from clients.reference.consumer.assignors.sticky.rack_info import RackInfo


class GeneralAssignment:
    """One run. ``owned`` is what each member owned, ``previous`` the earlier owners of some partitions."""

    def __init__(
        self,
        partitions_per_topic: PartitionsPerTopic,
        subscriptions: Mapping[str, Subscription],
        racks: RackInfo,
        owned: Assignment,
        previous: Mapping[TopicPartition, str],
        movements: Movements,
    ) -> None:
        self._racks = racks
        self._previous = previous
        self._movements = movements
        self._topics = {
            member: [topic for topic in told.topics if topic in partitions_per_topic]
            for member, told in subscriptions.items()
        }
        self._readers = {
            topic: [member for member, topics in self._topics.items() if topic in topics]
            for topic in partitions_per_topic
        }
        self._partitions = {
            topic: [(topic, info.partition) for info in infos]
            for topic, infos in partitions_per_topic.items()
        }
        self._must_revoke = False
        self._assignment: Assignment = {member: self._kept(member, owned[member]) for member in subscriptions}
        self._owner = {partition: member for member, kept in self._assignment.items() for partition in kept}
        #: (number of partitions, member), ascending.
        self._ranking = sorted((len(kept), member) for member, kept in self._assignment.items())

    def build(self) -> Assignment:
        """Return the assignment."""
        was_empty = self._ranking[-1][0] == 0
        in_order = sorted(self._readers, key=lambda topic: (len(self._readers[topic]), topic))
        everything = [partition for topic in in_order for partition in self._partitions[topic]]
        new = [partition for partition in everything if partition not in self._owner]
        self._assign_new(new)

        fixed = self._without_fixed_members()
        before, before_owner = _copied(self._assignment), dict(self._owner)
        if not self._must_revoke:
            self._balance([partition for partition in new if self._is_movable(partition)])
        moved = self._balance([partition for partition in everything if self._is_movable(partition)])
        if moved and not was_empty and _imbalance(self._assignment) >= _imbalance(before):
            self._assignment, self._owner = before, before_owner
        return self._assignment | fixed

    def _kept(self, member: str, owned: Sequence[TopicPartition]) -> list[TopicPartition]:
        kept = [
            partition
            for partition in owned
            if partition[0] in self._topics[member] and not self._racks.mismatch(member, partition)
        ]
        self._must_revoke |= len(kept) < len(owned)
        return kept

    def _assign_new(self, partitions: Sequence[TopicPartition]) -> None:
        left = [partition for partition in partitions if not self._placed(partition, within_racks=True)]
        for partition in left:
            self._placed(partition, within_racks=False)

    def _placed(self, partition: TopicPartition, *, within_racks: bool) -> bool:
        """Assign a partition to the member with the fewest. Return False if no member can have it."""
        for _, member in self._ranking:
            if partition[0] in self._topics[member]:
                if within_racks and self._racks.mismatch(member, partition):
                    continue
                self._unrank(member)
                self._assignment[member].append(partition)
                self._owner[partition] = member
                self._rank(member)
                return True
        return False

    def _without_fixed_members(self) -> Assignment:
        """Take the members out whose partitions cannot change, and return their assignment."""
        fixed: Assignment = {}
        for member in self._topics:
            if not self._can_change(member):
                self._unrank(member)
                fixed[member] = self._assignment.pop(member)
        return fixed

    def _can_change(self, member: str) -> bool:
        kept = self._assignment[member]
        possible = sum(len(self._partitions[topic]) for topic in self._topics[member])
        return len(kept) < possible or any(self._is_movable(partition) for partition in kept)

    def _is_movable(self, partition: TopicPartition) -> bool:
        return len(self._readers[partition[0]]) > 1

    def _balance(self, partitions: Sequence[TopicPartition]) -> bool:
        """Move partitions until none improves the balance. Return whether any moved."""
        any_moved, moved = False, True
        while moved:
            moved = False
            for partition in partitions:
                if self._is_balanced():
                    break
                if (target := self._better_owner(partition)) is not None:
                    self._move(partition, target)
                    moved = any_moved = True
        return any_moved

    def _is_balanced(self) -> bool:
        """Return whether no member could take a partition from one that has at least two more."""
        if self._ranking[0][0] >= self._ranking[-1][0] - 1:
            return True
        return not any(
            self._size_of_owner(partition) > size + 1
            for size, member in self._ranking
            for topic in self._topics[member]
            for partition in self._partitions[topic]
        )

    def _size_of_owner(self, partition: TopicPartition) -> int:
        return len(self._assignment[self._owner[partition]])

    def _better_owner(self, partition: TopicPartition) -> str | None:
        size, readers = self._size_of_owner(partition), self._readers[partition[0]]
        previous = self._previous.get(partition)
        if previous in readers and size > len(self._assignment[previous]) + 1:
            return previous
        if any(size > len(self._assignment[reader]) + 1 for reader in readers):
            return next(member for _, member in self._ranking if member in readers)
        return None

    def _move(self, wanted: TopicPartition, target: str) -> None:
        partition = self._movements.better(wanted, self._owner[wanted], target)
        owner = self._owner[partition]
        self._unrank(owner)
        self._unrank(target)
        self._movements.add(partition, owner, target)
        self._assignment[owner].remove(partition)
        self._assignment[target].append(partition)
        self._owner[partition] = target
        self._rank(owner)
        self._rank(target)

    def _rank(self, member: str) -> None:
        insort(self._ranking, (len(self._assignment[member]), member))

    def _unrank(self, member: str) -> None:
        del self._ranking[bisect_left(self._ranking, (len(self._assignment[member]), member))]


def _copied(assignment: Assignment) -> Assignment:
    return {member: list(partitions) for member, partitions in assignment.items()}


def _imbalance(assignment: Mapping[str, Collection[TopicPartition]]) -> int:
    """Return the sum of the differences between all pairs of members."""
    return sum(abs(len(one) - len(other)) for one, other in combinations(assignment.values(), 2))
