"""The client goes on reading partitions that the group has taken away from it."""

from __future__ import annotations

from collections.abc import Iterable

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Tenacious(SubscriptionState):
    """Keeps what it has whenever the group assigns something else."""

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        super().assign_from_subscribed(dict.fromkeys((*self.assigned, *partitions)))


MUTANT = Mutant(
    "goes on reading and committing partitions that were revoked",
    Components(subscriptions=Tenacious),
    caught_by=("not-owned", "commit-unowned"),
    breaks=("CSM-FET-03", "CSM-OFC-03"),
    scenarios=("group/join", "group/join-cooperative"),
)
