"""One call of wakeup() interrupts every call that follows."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Insomniac(ConsumerNetworkClient):
    """Remembers a wakeup forever."""

    def maybe_trigger_wakeup(self) -> None:
        is_woken = self._is_woken
        try:
            super().maybe_trigger_wakeup()
        finally:
            self._is_woken = is_woken


MUTANT = Mutant(
    "raises one wakeup in every call from then on",
    Components(consumer_network_client=Insomniac),
    caught_by=("state_transitions/a_wakeup_waits_until_it_is_allowed", "wakeup-unheard"),
    breaks=("CSM-WKP-01",),
    scenarios=("group/wakeup",),
)
