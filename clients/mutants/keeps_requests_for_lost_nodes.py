"""Requests stay in line for a node whose connection has failed."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Hopeful(ConsumerNetworkClient):
    """Expects that every node comes back."""

    def _check_disconnects(self) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "leaves requests in line for a node whose connection has failed",
    Components(consumer_network_client=Hopeful),
    caught_by=("state_transitions/a_lost_node_fails_what_waits_for_it",),
    breaks=("CSM-CNC-03",),
)
