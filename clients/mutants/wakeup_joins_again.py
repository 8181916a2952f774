"""A wakeup during a rebalance gives the join up, and the next poll begins another one."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.errors import WakeupError
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that a wakeup throws out."""

    def join_group_if_needed(self, timer: Timer) -> Call[bool]:
        try:
            return (yield from super().join_group_if_needed(timer))
        except WakeupError:
            self.reset_and_rejoin("woken up", reset_member_id=False)
            self._join_future = None
            raise


MUTANT = Mutant(
    "joins again after a wakeup during a rebalance",
    Components(coordinator=Member),
    caught_by=("delivery/a_wakeup_leaves_the_join_for_the_next_poll",),
    breaks=("CSM-WKP-02",),
)
