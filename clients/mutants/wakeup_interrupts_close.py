"""A wakeup interrupts also close(), which then leaves without the group's knowledge."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Nervous(ConsumerNetworkClient):
    """Never ignores a wakeup."""

    def disable_wakeups(self) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "lets a wakeup interrupt close()",
    Components(consumer_network_client=Nervous),
    caught_by=("state_transitions/a_wakeup_waits_until_it_is_allowed",),
    breaks=("CSM-CNC-07",),
)
