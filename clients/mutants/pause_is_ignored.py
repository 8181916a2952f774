"""A paused partition is fetched and returned like any other."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Restless(SubscriptionState):
    """Accepts a pause, and goes on."""

    def pause(self, partition: TopicPartition) -> None:
        self._state(partition)


MUTANT = Mutant(
    "returns records of paused partitions",
    Components(subscriptions=Restless),
    caught_by=("delivery/a_paused_partition_keeps_what_it_has", "paused-partition"),
    breaks=("CSM-FET-08",),
    scenarios=("delivery/paused",),
)
