"""A broker that refuses the credentials looks like one that closed the connection."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Discreet(ConsumerNetworkClient):
    """Fails what waits for a node without the cause."""

    def _fail_unsent(self, node_id: int, error: Exception | None = None) -> None:
        super()._fail_unsent(node_id)


MUTANT = Mutant(
    "reports refused credentials as a lost connection to what waits",
    Components(consumer_network_client=Discreet),
    caught_by=("state_transitions/a_lost_node_fails_what_waits_for_it",),
    breaks=("CSM-CNC-03",),
)
