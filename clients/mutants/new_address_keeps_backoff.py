"""A broker that moved to another address waits for the backoff of the old one."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unforgiving(ClusterConnectionStates):
    """Looks at the node's number alone."""

    def can_connect(self, node: Node, now_ms: int) -> bool:
        known = self._nodes.get(node.id)
        return known is None or (known.is_disconnected and now_ms >= known.can_connect_ms)


class UnforgivingClient(NetworkClient):
    """Has such connections."""

    connection_states = Unforgiving


MUTANT = Mutant(
    "has a broker that moved wait for the backoff of its old address",
    Components(network_client=UnforgivingClient),
    caught_by=("state_transitions/ConnectionsWalkTheirStates",),
    breaks=("NET-CON-10",),
)
