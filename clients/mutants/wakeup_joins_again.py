"""A wakeup during a rebalance gives the join up, and the next poll begins another one."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.errors import WakeupError
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Startled(ConsumerCore):
    """Forgets the join when it is woken up."""

    def poll(self, timeout_ms: int) -> Call[ConsumerRecords]:
        try:
            return (yield from super().poll(timeout_ms))
        except WakeupError:
            member = self._parts.coordinator
            if isinstance(member, ConsumerCoordinator) and member.rebalance_in_progress:
                member.reset_and_rejoin("woken up", reset_member_id=False)
                member._join_future = None
            raise


MUTANT = Mutant(
    "joins again after a wakeup during a rebalance",
    ConsumerVariant(core=Startled),
    caught_by=("delivery/a_wakeup_leaves_the_join_for_the_next_poll",),
    breaks=("CSM-WKP-02",),
)
