"""A connection that became ready does not end the series of failures: each loss waits longer than the last."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Resentful(ClusterConnectionStates):
    """Remembers every failure."""

    def ready(self, node_id: int, now_ms: int) -> None:
        failures = self._nodes[node_id].failures
        super().ready(node_id, now_ms)
        self._nodes[node_id].failures = failures


class ResentfulClient(NetworkClient):
    """Has such connections."""

    connection_states = Resentful


MUTANT = Mutant(
    "counts failures on when a connection has become ready",
    Components(network_client=ResentfulClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/a_ready_connection_forgets_failures",
    ),
    breaks=("NET-CON-07",),
)
