"""Without a reset policy, a new group begins at the end of the log instead of reporting that it has no offset."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Deciding(SubscriptionState):
    """Chooses a policy if there is none."""

    def reset_initializing(self, include: Callable[[TopicPartition], bool] = lambda _: True) -> None:
        for partition in self.initializing:
            if include(partition):
                self.request_offset_reset(partition, None if self.has_default_reset_policy else "latest")


MUTANT = Mutant(
    "begins at the end of the log if auto.offset.reset is none",
    Components(subscriptions=Deciding),
    caught_by=("state_transitions/a_position_that_nobody_knows_is_reset_by_the_policy",),
    breaks=("CSM-FET-11",),
)
