"""A member that has unsubscribed goes on sending heartbeats."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that cannot let go."""

    def maybe_leave_group(self, reason: str, operation: str = DEFAULT) -> RequestFuture[None] | None:
        state, generation = self.state, self.generation
        future = super().maybe_leave_group(reason, operation)
        self.state, self.generation = state, generation
        return future


MUTANT = Mutant(
    "sends heartbeats after it has left the group",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/no_heartbeat_follows_the_end",),
    breaks=("CSM-GRP-05",),
)
