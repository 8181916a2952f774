"""Round robin: all partitions of all topics in order go to the members in order, in turn.

A member that is not subscribed to the topic misses its turn. Source: RoundRobinAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
    members_in_order,
)


class RoundRobinAssignor:
    """``partition.assignment.strategy=roundrobin``."""

    name = "roundrobin"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return None: the assignment needs only the topics."""
        return None

    def on_assignment(self, assignment: Sequence[TopicPartition], generation: int) -> None:
        """Remember nothing."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Assignment:
        """Return the assignment, in which each member's topics are in order."""
        assignment: Assignment = {member: [] for member in subscriptions}
        turns = cycle(members_in_order(subscriptions))
        topics = {topic for told in subscriptions.values() for topic in told.topics}
        for topic in sorted(topics & partitions_per_topic.keys()):
            for info in partitions_per_topic[topic]:
                member = next(each for each in turns if topic in subscriptions[each].topics)
                assignment[member].append((topic, info.partition))
        return assignment
