"""Failures are reset once TCP connects, so the backoff stays short if a listener accepts and then closes."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Forgiving(ClusterConnectionStates):
    """Resets the failures of a node as soon as the connection is open."""

    def checking_api_versions(self, node_id: int, now_ms: int) -> None:
        super().checking_api_versions(node_id, now_ms)
        self._nodes[node_id].failures = 0


class ForgivingClient(NetworkClient):
    """Uses ``Forgiving``."""

    connection_states = Forgiving


MUTANT = Mutant(
    "resets the failures of a node as soon as it accepts a connection",
    Components(network_client=ForgivingClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/each_failure_in_a_row_waits_longer",
    ),
    breaks=("NET-CON-06",),
)
