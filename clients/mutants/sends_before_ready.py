"""Requests are sent as soon as a connection is open, before the broker has reported its API versions."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Hasty(ClusterConnectionStates):
    """Treats a connected node as ready."""

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        connection = self._nodes.get(node_id)
        return connection is not None and connection.is_connected and connection.throttled_until_ms <= now_ms


class HastyClient(NetworkClient):
    """Uses ``Hasty``."""

    connection_states = Hasty


MUTANT = Mutant(
    "sends requests before the broker has reported its API versions",
    Components(network_client=HastyClient),
    caught_by=("state_transitions/ConnectionsWalkTheirStates",),
    breaks=("NET-CON-01",),
)
