"""A rebalance resumes the paused partitions that the member keeps."""

from __future__ import annotations

from collections.abc import Iterable

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Restless(SubscriptionState):
    """Ends all pauses with each assignment of the group."""

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        super().assign_from_subscribed(partitions)
        for partition in self.paused:
            self.resume(partition)


MUTANT = Mutant(
    "resumes paused partitions in a rebalance",
    Components(subscriptions=Restless),
    caught_by=("state_transitions/a_pause_lasts_as_long_as_the_assignment",),
    breaks=("CSM-FET-08",),
)
