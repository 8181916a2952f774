"""A poll without subscription and partitions waits for nothing."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Content(SubscriptionState):
    """Finds that there is always something to read."""

    @property
    def has_nothing(self) -> bool:
        return False


MUTANT = Mutant(
    "polls although it has neither a subscription nor partitions",
    Components(subscriptions=Content),
    caught_by=(
        "state_transitions/only_a_group_assigns_partitions_for_a_subscription",
        "illegal-call-accepted",
    ),
    breaks=("CSM-API-02",),
    scenarios=("delivery/illegal-calls",),
)
