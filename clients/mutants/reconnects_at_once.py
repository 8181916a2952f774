"""The client reconnects at once after each lost or failed connection."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates, NodeConnection
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Eager(ClusterConnectionStates):
    """Sets no backoff after a failure."""

    def _back_off(self, connection: NodeConnection, now_ms: int) -> None:
        super()._back_off(connection, now_ms)
        connection.can_connect_ms = now_ms


class EagerClient(NetworkClient):
    """Uses ``Eager``."""

    connection_states = Eager


MUTANT = Mutant(
    "reconnects to a node at once, however often that has failed",
    Components(network_client=EagerClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "in-flight",
        "deadlines",
        "timeout_expiry/silence_makes_no_storm",
    ),
    breaks=("NET-CON-05",),
)
