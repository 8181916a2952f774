"""A second kind of subscription replaces the first one silently."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.subscription import SubscriptionType
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Flexible(SubscriptionState):
    """Takes the kind of the last call."""

    def _set_type(self, kind: SubscriptionType) -> None:
        self._type = kind


MUTANT = Mutant(
    "replaces one kind of subscription by another without being asked to unsubscribe",
    Components(subscriptions=Flexible),
    caught_by=("state_transitions/a_consumer_is_subscribed_in_one_way", "illegal-call-accepted"),
    breaks=("CSM-API-01",),
    scenarios=("delivery/illegal-calls",),
)
