"""A cooperative member reports all of its partitions as revoked, also those that it keeps."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that gives everything up, and takes it back in silence."""

    def _revoke_moved(
        self, owned: Sequence[TopicPartition], assigned: Sequence[TopicPartition]
    ) -> Call[Exception | None]:
        if not set(owned) - set(assigned):
            return None
        error = yield from self._listener.revoked(owned)
        self.request_rejoin("partitions were revoked")
        return error


MUTANT = Mutant(
    "reports partitions that it keeps as revoked",
    Components(coordinator=Member),
    caught_by=("gives-up-otherwise", "delivery/the_listener_hears_what_moves"),
    scenarios=("group/join-cooperative",),
    breaks=("CSM-GRP-11",),
)
