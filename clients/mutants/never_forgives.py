"""A connection that becomes ready does not reset the failures, so each loss waits longer than the last."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Resentful(ClusterConnectionStates):
    """Keeps the count of failures when a node becomes ready."""

    def ready(self, node_id: int, now_ms: int) -> None:
        failures = self._nodes[node_id].failures
        super().ready(node_id, now_ms)
        self._nodes[node_id].failures = failures


class ResentfulClient(NetworkClient):
    """Uses ``Resentful``."""

    connection_states = Resentful


MUTANT = Mutant(
    "keeps counting failures after a connection has become ready",
    Components(network_client=ResentfulClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/a_ready_connection_forgets_failures",
    ),
    breaks=("NET-CON-07",),
)
