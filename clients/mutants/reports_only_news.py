"""The listener is not called for an assignment without new partitions."""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Sparing(RebalanceListenerInvoker):
    """Reports what is new."""

    def assigned(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        return (yield from super().assigned(partitions)) if partitions else None


class Member(ConsumerCoordinator):
    """A member that spares its application."""

    listener_component = Sparing


MUTANT = Mutant(
    "does not report an assignment that has nothing new",
    Components(coordinator=Member),
    caught_by=("delivery/the_listener_hears_what_moves",),
    breaks=("CSM-GRP-11",),
)
