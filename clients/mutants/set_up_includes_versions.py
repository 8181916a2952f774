"""The time for making a connection also limits the wait for the broker's versions."""

from __future__ import annotations

from collections.abc import Iterator

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class Strict(ClusterConnectionStates):
    """Is not made until it is ready."""

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        for node_id in self._nodes:
            if self.is_preparing(node_id):
                yield node_id, self._nodes[node_id].setup_expires_ms


class StrictClient(NetworkClient):
    """Has such connections."""

    connection_states = Strict


COMPONENTS = Components(network_client=StrictClient)
