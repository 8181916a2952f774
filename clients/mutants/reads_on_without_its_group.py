"""A member that has lost its generation goes on reading for seconds before it joins again."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant

READS_ON_MS = 3_000


class Member(ConsumerCoordinator):
    """A member that is in no hurry."""

    lost_ms: int | None = None

    def reset_and_rejoin(self, reason: str, *, reset_member_id: bool) -> None:
        super().reset_and_rejoin(reason, reset_member_id=reset_member_id)
        self.lost_ms = self._clock.now_ms

    def poll(self, timer: Timer, *, wait_for_join: bool = True) -> Call[bool]:
        lost_ms = self.lost_ms if self._subscriptions.assigned else None
        if lost_ms is not None and self._clock.now_ms < lost_ms + READS_ON_MS:
            return True
        self.lost_ms = None
        return (yield from super().poll(timer, wait_for_join=wait_for_join))


MUTANT = Mutant(
    "reads on for seconds after its group has removed it",
    Components(coordinator=Member),
    caught_by=("zombie",),
    scenarios=("group/heartbeat-unknown",),
    breaks=("CSM-GRP-12",),
)
