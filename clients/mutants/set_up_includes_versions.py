"""The time for making a connection also limits the wait for the broker's versions."""

from __future__ import annotations

from collections.abc import Iterator

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Strict(ClusterConnectionStates):
    """Is not made until it is ready."""

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        for node_id in self._nodes:
            if self.is_preparing(node_id):
                yield node_id, self._nodes[node_id].setup_expires_ms


class StrictClient(NetworkClient):
    """Has such connections."""

    connection_states = Strict


MUTANT = Mutant(
    "limits the wait for a broker's versions by the time for making a connection",
    Components(network_client=StrictClient),
    caught_by=("timeout_expiry/the_wait_for_versions_is_a_request",),
    breaks=("NET-CON-08",),
)
