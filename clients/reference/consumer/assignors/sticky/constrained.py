"""The algorithm for members that all subscribe to the same topics.

Every member gets the smaller or the larger quota, which differ by at most one. Members keep what they owned up to their
quota. What is left goes in turn to the members below their quota, within racks first if racks matter.

Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections import deque

from clients.reference.consumer.assignors.assignor import Assignment, PartitionsPerTopic, TopicPartition
from clients.reference.consumer.assignors.sticky.claims import Claims
from clients.reference.consumer.assignors.sticky.rack_info import RackInfo


class ConstrainedAssignment:
    """One run. ``transferred`` are the partitions that another member must give up first, with their new owners."""

    def __init__(self, partitions_per_topic: PartitionsPerTopic, racks: RackInfo, claims: Claims) -> None:
        self._racks = racks
        self._claims = claims
        self._all = sorted(
            (topic, info.partition) for topic, infos in partitions_per_topic.items() for info in infos
        )
        self._small, self._larger = divmod(len(self._all), len(claims.owned))
        self._large = self._small + (self._larger > 0)
        self._below_small: list[str] = []
        self._at_small: deque[str] = deque()
        self._given_up: dict[TopicPartition, str] = {}
        self.assignment: Assignment = {member: [] for member in claims.owned}
        self.transferred: dict[TopicPartition, str] = {}

    def build(self) -> Assignment:
        """Return the assignment."""
        for member in self._claims.owned:
            self._keep(member)
        self._below_small.sort()
        self._at_small = deque(sorted(self._at_small))
        kept = {partition for partitions in self.assignment.values() for partition in partitions}
        left = self._racks.by_readers(partition for partition in self._all if partition not in kept)
        if self._racks.matter:
            left = self._assign_within_racks(left)
        self._assign_in_turn(left)
        return self.assignment

    def _keep(self, member: str) -> None:
        """Let a member keep what it owned, up to a quota. ``_larger`` counts the larger quotas that are left."""
        owned = []
        for partition in sorted(self._claims.owned[member], key=lambda owned: (owned[1], owned[0])):
            if self._racks.mismatch(member, partition):
                self._given_up[partition] = member
            elif partition not in self._claims.disputed:
                owned.append(partition)
        if len(owned) < self._small:
            quota = len(owned)
            self._below_small.append(member)
        elif len(owned) >= self._large and self._larger > 0:
            quota = self._large
            self._take_larger()
        else:
            quota = self._small
            if self._larger > 0:
                self._at_small.append(member)
        self.assignment[member] += owned[:quota]
        self._given_up.update(dict.fromkeys(owned[quota:], member))

    def _take_larger(self) -> None:
        self._larger -= 1
        if self._larger == 0:
            self._at_small.clear()

    def _assign_within_racks(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Assign what has a member in its racks with room left. Return the other partitions."""
        left, turn = [], 0
        for partition in partitions:
            index = self._racks.next_in_rack(partition, self._below_small, turn)
            if index is not None:
                member = self._below_small[index]
                turn = self._next_turn(member, index)
            else:
                index = self._racks.next_in_rack(partition, self._at_small, 0)
                if index is None:
                    left.append(partition)
                    continue
                member = self._at_small[index]
                del self._at_small[index]
                self._take_larger()
            self._give(partition, member)
        return left

    def _next_turn(self, member: str, index: int) -> int:
        """Count a partition for a member below its quota, and return whose turn is next."""
        count = len(self.assignment[member]) + 1
        if count >= self._small:
            del self._below_small[index]
            if count < self._large and self._larger > 0:
                self._at_small.append(member)
        else:
            index += 1
        return index % len(self._below_small) if self._below_small else 0

    def _assign_in_turn(self, partitions: list[TopicPartition]) -> None:
        """Fill all members up to the smaller quota, and then the first ones up to the larger."""
        turn = 0
        for partition in partitions:
            if not self._below_small:
                self._give(partition, self._at_small.popleft())
                continue
            turn %= len(self._below_small)
            member = self._below_small[turn]
            self._give(partition, member)
            if len(self.assignment[member]) == self._small:
                del self._below_small[turn]
                self._at_small.append(member)
            else:
                turn += 1

    def _give(self, partition: TopicPartition, member: str) -> None:
        self.assignment[member].append(partition)
        moved = self._given_up.get(partition, member) != member
        if moved or partition in self._claims.disputed:
            self.transferred[partition] = member
