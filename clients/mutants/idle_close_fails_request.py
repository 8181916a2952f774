"""A connection counts as idle although a response is pending, and closing it fails the request."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class InattentiveClient(NetworkClient):
    """Never counts a connection as busy."""

    def _is_busy(self, node_id: int) -> bool:
        return False


MUTANT = Mutant(
    "closes a connection as idle while a response is pending",
    Components(network_client=InattentiveClient),
    caught_by=("timeout_expiry/an_idle_connection_is_closed",),
    breaks=("NET-CON-14",),
)
