"""A wakeup at a time that does not allow one is dropped."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Forgetful(ConsumerNetworkClient):
    """Remembers a wakeup for one round only."""

    def poll(self, now_ms: int, *, wakeup: bool = True) -> None:
        super().poll(now_ms, wakeup=wakeup)
        self._is_woken = False


MUTANT = Mutant(
    "drops a wakeup that comes when none is allowed",
    Components(consumer_network_client=Forgetful),
    caught_by=("state_transitions/a_wakeup_waits_until_it_is_allowed",),
    breaks=("CSM-CNC-07",),
)
