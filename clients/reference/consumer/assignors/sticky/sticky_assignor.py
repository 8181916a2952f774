"""Sticky: balance first, and then as few moves as possible. All members still give up everything before they join.

A member tells the leader in its user data what it was last assigned (KIP-54), and in which generation (KIP-341).

Source: StickyAssignor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
)
from clients.reference.consumer.assignors.sticky.movements import Pick
from clients.reference.consumer.assignors.sticky.rebalance import StickyRebalances
from clients.reference.consumer.assignors.sticky.user_data import (
    DEFAULT_GENERATION,
    MemberData,
    decode_owned,
    encode_owned,
)


class StickyAssignor:
    """``partition.assignment.strategy=sticky``."""

    name = "sticky"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def __init__(self, pick: Pick = min) -> None:
        self._rebalances = StickyRebalances(pick)
        self._assigned: tuple[TopicPartition, ...] | None = None
        self._generation = DEFAULT_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return the last assignment and its generation, or None before the first one."""
        return None if self._assigned is None else encode_owned(self._assigned, self._generation)

    def on_assignment(self, assignment: Sequence[TopicPartition], generation: int) -> None:
        """Remember the assignment for the next subscription."""
        self._assigned = tuple(assignment)
        self._generation = generation

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Assignment:
        """Return the assignment."""
        told = {member: _told(subscription) for member, subscription in subscriptions.items()}
        return self._rebalances.assign(partitions_per_topic, subscriptions, told)[0]


def _told(subscription: Subscription) -> MemberData:
    return decode_owned(subscription.user_data) if subscription.user_data else MemberData()
