"""The result of a lookup of offsets is adopted even if the application has sought another one since."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import FetchPosition, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Belated(SubscriptionState):
    """Adopts every result."""

    def maybe_seek_unvalidated(
        self, partition: TopicPartition, position: FetchPosition, strategy: str
    ) -> None:
        state = self.state(partition)
        if state is not None:
            state.seek_unvalidated(position)


MUTANT = Mutant(
    "lets the late result of an offset lookup undo a seek",
    Components(subscriptions=Belated),
    caught_by=("state_transitions/a_lookup_counts_while_it_is_awaited",),
    breaks=("CSM-FET-11",),
)
