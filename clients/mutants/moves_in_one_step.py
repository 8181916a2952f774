"""A cooperative rebalance gives a partition to its new owner before the old one has given it up."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.consumer.assignors.assignor import Assignment as Owners
from clients.reference.consumer.assignors.assignor import PartitionsPerTopic, Subscription
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Sudden(CooperativeStickyAssignor):
    """Assigns as if no member had anything."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Owners:
        return RoundRobinAssignor().assign(partitions_per_topic, subscriptions)


MUTANT = Mutant(
    "moves partitions to a new owner before the old one gave them up",
    ConsumerVariant(assignors=(Sudden,)),
    caught_by=("state_transitions/sticky_assignors_move_no_more_than_they_must",),
    breaks=("CSM-GRP-11",),
)
