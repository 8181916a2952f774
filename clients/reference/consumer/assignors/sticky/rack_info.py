"""Racks for the sticky assignors (KIP-881): they rank below balance, and above stickiness.

Source: AbstractStickyAssignor.RackInfo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from clients.reference.consumer.assignors.assignor import (
    PartitionsPerTopic,
    Subscription,
    TopicPartition,
    racks_matter,
    racks_of,
)


class RackInfo:
    """The racks of members and of partitions. If they do not matter, no member is in a rack."""

    def __init__(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> None:
        members = racks_of(subscriptions)
        partitions = {
            (topic, info.partition): info.racks
            for topic, infos in partitions_per_topic.items()
            for info in infos
        }
        matter = racks_matter(members.values(), partitions.values())
        self._member_rack = members if matter else {}
        self._partition_racks = partitions
        self._readers_in = Counter(members.values())

    @property
    def matter(self) -> bool:
        """Whether racks matter."""
        return bool(self._member_rack)

    def mismatch(self, member: str, partition: TopicPartition) -> bool:
        """Return whether the member is in a rack without a replica of the partition."""
        rack = self._member_rack.get(member)
        return rack is not None and rack not in self._partition_racks[partition]

    def by_readers(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Sort partitions by the number of members in their racks: the hardest to place come first.

        As in Java, this order also applies if racks do not matter.
        """

        def readers(partition: TopicPartition) -> int:
            return sum(self._readers_in[rack] for rack in self._partition_racks[partition])

        return sorted(partitions, key=readers)

    def next_in_rack(self, partition: TopicPartition, members: Sequence[str], first: int) -> int | None:
        """Return the index of the first member in one of the partition's racks, from ``first`` on and around."""
        racks = self._partition_racks[partition]
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self._member_rack.get(members[index]) in racks:
                return index
        return None
