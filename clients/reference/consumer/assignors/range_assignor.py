"""Range: for each topic, the members in order get consecutive partitions, the first members one more.

If racks matter, members first get partitions with a replica in their rack, within the same limits (KIP-881). Topics
with equally many partitions and the same members are co-partitioned: each member gets the same numbers of all of them,
even if that costs a matching rack. Source: RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionInfo,
    PartitionsPerTopic,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
    members_in_order,
    racks_matter,
    racks_of,
)


class RangeAssignor:
    """``partition.assignment.strategy=range``."""

    name = "range"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return None: the assignment needs only the topics and the racks."""
        return None

    def on_assignment(self, assignment: Sequence[TopicPartition], generation: int) -> None:
        """Remember nothing."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Assignment:
        """Return the assignment. Partitions are sorted if racks matter, otherwise in the order of the topics."""
        racks = racks_of(subscriptions)
        members = members_in_order(subscriptions)
        topics = []
        for topic, infos in partitions_per_topic.items():
            interested = [member for member in members if topic in subscriptions[member].topics]
            if infos and interested:
                topics.append(_TopicAssignment(topic, infos, interested, racks))
        assignment: Assignment = {member: [] for member in subscriptions}
        use_racks = any(each.racks_matter for each in topics)
        if use_racks:
            _assign_within_racks(topics, assignment)
        for each in topics:
            each.assign_ranges(assignment, lambda member, partition: True)
        if use_racks:
            for partitions in assignment.values():
                partitions.sort()
        return assignment


class _TopicAssignment:
    """A topic, the members that subscribe to it, and how many more partitions each of them may get."""

    def __init__(
        self, topic: str, infos: Sequence[PartitionInfo], members: list[str], racks: Mapping[str, str]
    ) -> None:
        self.topic = topic
        self.count = len(infos)
        self.members = members
        self._rack = {member: racks[member] for member in members if member in racks}
        self._racks_of_partition = {info.partition: info.racks for info in infos}
        self.racks_matter = racks_matter(self._rack.values(), self._racks_of_partition.values())
        self._unassigned = dict.fromkeys(info.partition for info in infos)
        self._assigned = dict.fromkeys(members, 0)
        self._share, self._extras = divmod(len(infos), len(members))

    @property
    def like(self) -> tuple[object, ...]:
        """What co-partitioned topics have in common."""
        return tuple(self.members), self.count

    @property
    def has_racks(self) -> bool:
        """Whether a member that subscribes to this topic is in a rack."""
        return bool(self._rack)

    def matches(self, member: str, partition: int) -> bool:
        """Return whether the member reads the partition within its rack, or has no rack."""
        return member not in self._rack or self._rack[member] in self._racks_of_partition[partition]

    def left_for(self, member: str) -> int:
        """Return how many more partitions the member may get."""
        return max(0, self._share + (self._extras > 0) - self._assigned[member])

    def assign(self, member: str, partitions: Sequence[int], assignment: Assignment) -> None:
        """Assign partitions to a member."""
        assignment[member] += [(self.topic, partition) for partition in partitions]
        self._assigned[member] += len(partitions)
        if self._assigned[member] > self._share:
            self._extras -= 1
        for partition in partitions:
            del self._unassigned[partition]

    def assign_ranges(self, assignment: Assignment, may_have: Callable[[str, int], bool]) -> None:
        """Give each member in order the first partitions that are left and that it may have."""
        for member in self.members:
            wanted = [partition for partition in self._unassigned if may_have(member, partition)]
            if granted := wanted[: self.left_for(member)]:
                self.assign(member, granted, assignment)


def _assign_within_racks(topics: Iterable[_TopicAssignment], assignment: Assignment) -> None:
    groups: dict[object, list[_TopicAssignment]] = {}
    for each in topics:
        if each.has_racks:
            groups.setdefault(each.like, []).append(each)
    for first, *others in groups.values():
        if others:
            _assign_co_partitioned([first, *others], assignment)
        elif first.racks_matter:
            first.assign_ranges(assignment, first.matches)


def _assign_co_partitioned(topics: Sequence[_TopicAssignment], assignment: Assignment) -> None:
    """Give each number of all topics to the first member whose rack matches in all of them."""
    remaining = list(topics[0].members)
    for partition in range(topics[0].count):
        for member in remaining:
            if all(each.matches(member, partition) and each.left_for(member) for each in topics):
                for each in topics:
                    each.assign(member, [partition], assignment)
                if not any(each.left_for(member) for each in topics):
                    remaining.remove(member)
                break
