"""A member gets partitions of topics that only others subscribe to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clients.reference.consumer.assignors.assignor import Assignment as Owners
from clients.reference.consumer.assignors.assignor import PartitionsPerTopic, Subscription
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Careless(RoundRobinAssignor):
    """Believes that all members want the same."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> Owners:
        topics = tuple(sorted({topic for told in subscriptions.values() for topic in told.topics}))
        same = {member: replace(told, topics=topics) for member, told in subscriptions.items()}
        return super().assign(partitions_per_topic, same)


MUTANT = Mutant(
    "assigns partitions to members that have not subscribed to the topic",
    ConsumerVariant(assignors=(Careless,)),
    caught_by=("state_transitions/each_partition_has_one_owner_that_wants_it",),
    breaks=("CSM-GRP-04",),
)
