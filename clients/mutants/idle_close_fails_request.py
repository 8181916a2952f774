"""A connection counts as idle although an answer is awaited on it: its request is lost with it."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class InattentiveClient(NetworkClient):
    """Never sees that a connection is busy."""

    def _is_busy(self, node_id: int) -> bool:
        return False


MUTANT = Mutant(
    "calls a connection idle on which an answer is awaited",
    Components(network_client=InattentiveClient),
    caught_by=("timeout_expiry/an_idle_connection_is_closed",),
    breaks=("NET-CON-14",),
)
