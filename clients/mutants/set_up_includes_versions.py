"""The time limit for connecting also limits the wait for the broker's API versions."""

from __future__ import annotations

from collections.abc import Iterator

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Strict(ClusterConnectionStates):
    """Applies the connection timeout until the node is ready."""

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        for node_id in self._nodes:
            if self.is_preparing(node_id):
                yield node_id, self._nodes[node_id].setup_expires_ms


class StrictClient(NetworkClient):
    """Uses ``Strict``."""

    connection_states = Strict


MUTANT = Mutant(
    "applies the time limit for connecting to the wait for a broker's API versions",
    Components(network_client=StrictClient),
    caught_by=("timeout_expiry/the_wait_for_versions_is_a_request",),
    breaks=("NET-CON-08",),
)
