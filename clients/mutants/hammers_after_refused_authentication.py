"""A refused authentication is retried at once."""

from __future__ import annotations

from clients.reference.errors import AuthenticationError
from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Impatient(ClusterConnectionStates):
    """Sets no backoff after a refused authentication."""

    def authentication_failed(self, node_id: int, error: AuthenticationError, now_ms: int) -> None:
        super().authentication_failed(node_id, error, now_ms)
        self._nodes[node_id].can_connect_ms = now_ms


class ImpatientClient(NetworkClient):
    """Uses ``Impatient``."""

    connection_states = Impatient


MUTANT = Mutant(
    "reconnects at once to a node that refused its credentials",
    Components(network_client=ImpatientClient),
    caught_by=("delivery/a_refused_authentication_is_told_and_backed_off",),
    breaks=("NET-CON-11",),
)
