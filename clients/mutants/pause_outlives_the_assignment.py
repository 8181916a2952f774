"""A partition that was paused when it was revoked is paused when it comes back."""

from __future__ import annotations

from collections.abc import Iterable

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Remembering(SubscriptionState):
    """Remembers what was paused."""

    was_paused: frozenset[TopicPartition] = frozenset()

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        self.was_paused |= self.paused
        super().assign_from_subscribed(partitions)
        for partition in self.was_paused.intersection(self.assigned):
            self.pause(partition)


MUTANT = Mutant(
    "keeps the pause of a partition that was revoked meanwhile",
    Components(subscriptions=Remembering),
    caught_by=("state_transitions/a_pause_lasts_as_long_as_the_assignment",),
    breaks=("CSM-FET-08",),
)
