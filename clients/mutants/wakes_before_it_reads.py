"""A wakeup ends a round before the responses that have come are read."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Hasty(ConsumerNetworkClient):
    """Looks for a wakeup at the beginning of a round."""

    def poll(self, now_ms: int, *, wakeup: bool = True) -> None:
        if wakeup:
            self.maybe_trigger_wakeup()
        super().poll(now_ms, wakeup=wakeup)


MUTANT = Mutant(
    "looks for a wakeup before it reads responses",
    Components(consumer_network_client=Hasty),
    caught_by=("state_transitions/a_round_reads_before_it_looks_for_a_wakeup",),
    breaks=("CSM-CNC-01",),
)
