"""A cooperative member gives up what moves, and does not join again, so that no other member gets it."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that takes one rebalance for enough."""

    def _revoke_moved(
        self, owned: Sequence[TopicPartition], assigned: Sequence[TopicPartition]
    ) -> Call[Exception | None]:
        moved = sorted(set(owned) - set(assigned))
        return (yield from self._listener.revoked(moved)) if moved else None


MUTANT = Mutant(
    "does not join again after it has given up partitions to others",
    Components(coordinator=Member),
    caught_by=("gives-up-otherwise",),
    scenarios=("group/join-cooperative",),
    breaks=("CSM-GRP-11",),
)
