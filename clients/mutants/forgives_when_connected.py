"""Failures are forgotten as soon as TCP is up: a listener that accepts and closes is never backed off for long."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Forgiving(ClusterConnectionStates):
    """Takes an open socket for a working broker."""

    def checking_api_versions(self, node_id: int, now_ms: int) -> None:
        super().checking_api_versions(node_id, now_ms)
        self._nodes[node_id].failures = 0


class ForgivingClient(NetworkClient):
    """Resets the failures of a node too early."""

    connection_states = Forgiving


MUTANT = Mutant(
    "forgets the failures of a node as soon as it accepts a connection",
    Components(network_client=ForgivingClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/each_failure_in_a_row_waits_longer",
    ),
    breaks=("NET-CON-06",),
)
