"""The first member gets all partitions that do not divide evenly."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.consumer.assignors.assignor import Assignment as Owners
from clients.reference.consumer.assignors.assignor import PartitionsPerTopic, Subscription, members_in_order
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Uneven(RangeAssignor):
    """Divides, and forgets the remainder."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Owners:
        first, *others = members_in_order(subscriptions)
        assignment = super().assign(partitions_per_topic, subscriptions)
        least = min(map(len, assignment.values()))
        for member in others:
            assignment[first] += assignment[member][least:]
            del assignment[member][least:]
        return assignment


MUTANT = Mutant(
    "gives one member all partitions that are left over",
    ConsumerVariant(assignors=(Uneven,)),
    caught_by=("state_transitions/members_get_equally_much",),
    breaks=("CSM-GRP-14",),
)
