"""A connection counts as idle although an answer is awaited on it: its request is lost with it."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class InattentiveClient(NetworkClient):
    """Never sees that a connection is busy."""

    def _is_busy(self, node_id: int) -> bool:
        return False


COMPONENTS = Components(network_client=InattentiveClient)
