"""A member that waits for its assignment sends no heartbeats."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.member_states import MemberState
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that is silent until it is stable."""

    def _send_heartbeat(self) -> None:
        if self.state is MemberState.STABLE:
            super()._send_heartbeat()
        else:
            self.heartbeat.sent()


MUTANT = Mutant(
    "sends no heartbeats while it waits for its assignment",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/heartbeats_begin_with_the_join",),
    breaks=("CSM-GRP-05",),
)
