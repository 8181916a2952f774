"""A partition whose position is being looked up goes back to the position that it had given up."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.fetch_states import FetchEvent, FetchState
from clients.reference.consumer.subscription.partition_state import PartitionState
from clients.reference.consumer.subscription.positions import FetchPosition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Stubborn(PartitionState):
    """Validates a position in any state."""

    def validate(self, position: FetchPosition) -> None:
        if not self.is_awaiting_reset:
            super().validate(position)
            return
        self.state, self.position = FetchState.AWAIT_VALIDATION, position
        self._moved(FetchState.AWAIT_RESET, FetchEvent.VALIDATE, self.state, str(position.offset))


class Positions(SubscriptionState):
    """Has positions that do not end."""

    state_component = Stubborn


MUTANT = Mutant(
    "goes back to a position that is being reset when the leader changes",
    Components(subscriptions=Positions),
    caught_by=("state_transitions/a_position_moves_as_the_oracle_says",),
    breaks=("CSM-FET-03",),
)
