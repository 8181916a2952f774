"""A member that dropped out of its group reports its partitions as revoked, and commits what others own."""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Unaware(RebalanceListenerInvoker):
    """Knows no losses."""

    def lost(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        return (yield from self.revoked(partitions))


class Member(ConsumerCoordinator):
    """A member that never loses anything."""

    listener_component = Unaware


MUTANT = Mutant(
    "reports lost partitions as revoked",
    Components(coordinator=Member),
    caught_by=("lost-as-revoked", "delivery/what_others_may_own_is_lost"),
    scenarios=("group/heartbeat-unknown",),
    breaks=("CSM-GRP-12",),
)
