"""What both sticky assignors do at a rebalance: settle who owned what, choose the algorithm, and run it.

Source: AbstractStickyAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    Subscription,
    TopicPartition,
)
from clients.reference.consumer.assignors.sticky.claims import settle
from clients.reference.consumer.assignors.sticky.constrained import ConstrainedAssignment
from clients.reference.consumer.assignors.sticky.general import GeneralAssignment
from clients.reference.consumer.assignors.sticky.movements import Movements, Pick
from clients.reference.consumer.assignors.sticky.rack_info import RackInfo
from clients.reference.consumer.assignors.sticky.user_data import DEFAULT_GENERATION, MemberData

Transfers = dict[TopicPartition, str]
"""New owners of partitions that a previous owner must give up first."""


class StickyRebalances:
    """The rebalances that one leader computes. It remembers the highest generation that any member told."""

    def __init__(self, pick: Pick) -> None:
        self._pick = pick
        self._highest_generation = DEFAULT_GENERATION

    def assign(
        self,
        partitions_per_topic: PartitionsPerTopic,
        subscriptions: Mapping[str, Subscription],
        told: Mapping[str, MemberData],
    ) -> tuple[Assignment, Transfers | None]:
        """Return the assignment, and its transfers if the algorithm knows them. ``told`` has every member.

        Java compares each member's topics with those of the first member that has any. A member without topics can
        thereby be assigned partitions, which it then refuses. Here, such members make the subscriptions different.
        """
        generations = [_generation(data) for data in told.values()]
        self._highest_generation = max([self._highest_generation, *generations])
        if not subscriptions:
            return {}, {}
        racks = RackInfo(partitions_per_topic, subscriptions)
        claims = settle(partitions_per_topic, subscriptions, told)
        if len({frozenset(subscription.topics) for subscription in subscriptions.values()}) == 1:
            run = ConstrainedAssignment(partitions_per_topic, racks, claims)
            return run.build(), run.transferred
        general = GeneralAssignment(
            partitions_per_topic,
            subscriptions,
            racks,
            claims.owned,
            self._previous(told),
            Movements(self._pick),
        )
        return general.build(), None

    def _previous(self, told: Mapping[str, MemberData]) -> dict[TopicPartition, str]:
        """Return the newest owner of each partition among the members that missed the newest generation."""
        newest: dict[TopicPartition, tuple[int, str]] = {}
        for member, data in told.items():
            generation = _generation(data)
            if generation < self._highest_generation:
                for partition in data.partitions:
                    if partition not in newest or newest[partition][0] < generation:
                        newest[partition] = generation, member
        return {partition: member for partition, (_, member) in newest.items()}


def _generation(data: MemberData) -> int:
    return DEFAULT_GENERATION if data.generation is None else data.generation
