"""To close a node ends its requests like a lost connection, though their caller has gone."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class Talkative(NetworkClient):
    """Disconnects before it forgets."""

    def close_node(self, node_id: int, now_ms: int) -> None:
        self.disconnect(node_id, now_ms, "closed")
        super().close_node(node_id, now_ms)


COMPONENTS = Components(network_client=Talkative)
