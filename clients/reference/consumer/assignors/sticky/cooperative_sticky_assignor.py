"""Cooperative sticky: the same assignment in two rebalances, so that members need not give up what they keep (KIP-429).

The first assignment leaves out every partition that changes its owner. Its owner gives it up and joins again, and only
then it is assigned to the new one.

Source: CooperativeStickyAssignor.
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
from clients.reference.consumer.assignors.sticky.rebalance import StickyRebalances, Transfers
from clients.reference.consumer.assignors.sticky.user_data import (
    DEFAULT_GENERATION,
    MemberData,
    decode_generation,
    encode_generation,
)


class CooperativeStickyAssignor:
    """``partition.assignment.strategy=cooperative-sticky``."""

    name = "cooperative-sticky"
    supported_protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self, pick: Pick = min) -> None:
        self._rebalances = StickyRebalances(pick)
        self._generation = DEFAULT_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return the generation of the last assignment, for leaders that do not read it in the subscription."""
        return encode_generation(self._generation)

    def on_assignment(self, assignment: Sequence[TopicPartition], generation: int) -> None:
        """Remember the generation for the next subscription."""
        self._generation = generation

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Assignment:
        """Return the assignment, without the partitions that another member must give up first."""
        told = {member: _told(subscription) for member, subscription in subscriptions.items()}
        assignment, transfers = self._rebalances.assign(partitions_per_topic, subscriptions, told)
        if transfers is None:
            transfers = _transfers(assignment, subscriptions)
        for partition, member in transfers.items():
            assignment[member].remove(partition)
        return assignment


def _told(subscription: Subscription) -> MemberData:
    """Return what the member owned. Its generation is in the subscription from version 2 on (KIP-792)."""
    generation = subscription.generation_id
    if generation is None:
        generation = decode_generation(subscription.user_data)
    return MemberData(subscription.owned_partitions, generation)


def _transfers(assignment: Assignment, subscriptions: Mapping[str, Subscription]) -> Transfers:
    """Return the partitions that one member loses and another one gets, with the latter."""
    got, lost = Transfers(), set[TopicPartition]()
    for member, partitions in assignment.items():
        owned = set(subscriptions[member].owned_partitions)
        got |= dict.fromkeys((each for each in partitions if each not in owned), member)
        lost |= owned.difference(partitions)
    return {partition: member for partition, member in got.items() if partition in lost}
