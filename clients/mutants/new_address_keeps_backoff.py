"""A broker that has moved to another address still waits for the backoff of the old address."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unforgiving(ClusterConnectionStates):
    """Compares only node ids, not addresses."""

    def can_connect(self, node: Node, now_ms: int) -> bool:
        known = self._nodes.get(node.id)
        return known is None or (known.is_disconnected and now_ms >= known.can_connect_ms)


class UnforgivingClient(NetworkClient):
    """Uses ``Unforgiving``."""

    connection_states = Unforgiving


MUTANT = Mutant(
    "applies the backoff of a broker's old address to its new address",
    Components(network_client=UnforgivingClient),
    caught_by=("state_transitions/ConnectionsWalkTheirStates",),
    breaks=("NET-CON-10",),
)
