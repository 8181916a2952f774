"""A call about a partition that is not assigned adds it to the assignment."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.partition_state import PartitionState
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Adopting(SubscriptionState):
    """Makes a state for any partition."""

    def _state(self, partition: TopicPartition) -> PartitionState:
        if partition not in self._assigned:
            self._assigned[partition] = self._new_state(partition)
        return super()._state(partition)


MUTANT = Mutant(
    "seeks and pauses partitions that it does not have",
    Components(subscriptions=Adopting),
    caught_by=("state_transitions/a_call_about_a_partition_needs_its_assignment", "call-accepted"),
    breaks=("CSM-API-06",),
    scenarios=("delivery/paused-beside-another",),
)
