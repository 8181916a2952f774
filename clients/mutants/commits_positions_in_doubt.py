"""A commit of everything has also positions that are being validated, and that the leader may not have."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Generous(SubscriptionState):
    """Commits everything that has a position."""

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        states = {partition: self.state(partition) for partition in self.assigned}
        return {
            partition: OffsetAndMetadata(state.position.offset, "", state.position.offset_epoch)
            for partition, state in states.items()
            if state is not None and state.position is not None
        }


MUTANT = Mutant(
    "commits positions that it is still comparing with the leader's log",
    Components(subscriptions=Generous),
    caught_by=("state_transitions/only_valid_positions_are_committed",),
    breaks=("CSM-ACM-04",),
)
