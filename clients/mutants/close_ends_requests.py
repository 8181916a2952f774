"""Closing a node completes its requests as disconnected instead of dropping them."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Talkative(NetworkClient):
    """Disconnects a node, which completes its requests, before it forgets the node."""

    def close_node(self, node_id: int, now_ms: int) -> None:
        self.disconnect(node_id, now_ms, "closed")
        super().close_node(node_id, now_ms)


MUTANT = Mutant(
    "reports the requests of a closed node as disconnected instead of dropping them",
    Components(network_client=Talkative),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-07",),
)
