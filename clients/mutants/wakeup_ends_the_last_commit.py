"""A wakeup interrupts the commit of close(), and the group reads these records again."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Nervous(ConsumerNetworkClient):
    """Never ignores a wakeup."""

    def disable_wakeups(self) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "lets a wakeup interrupt the last commit",
    Components(consumer_network_client=Nervous),
    caught_by=("delivery/close_is_not_interrupted",),
    breaks=("CSM-WKP-02",),
)
