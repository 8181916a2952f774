"""A call that waits for a retry sleeps as long as it may, although nothing is in flight that could wake it."""

from __future__ import annotations

from clients.reference.consumer.calls import Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Sleepy(ConsumerNetworkClient):
    """Ignores whether anything is in flight."""

    def _wait_until_ms(self, timer: Timer) -> int:
        return min(timer.deadline_ms, timer.now_ms + self._longest_poll_ms)


MUTANT = Mutant(
    "waits for responses although no request is in flight",
    Components(consumer_network_client=Sleepy),
    caught_by=("state_transitions/a_wait_for_the_network_has_a_bound",),
    breaks=("CSM-CNC-04",),
)
