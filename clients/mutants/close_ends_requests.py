"""To close a node ends its requests like a lost connection, though their caller has gone."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Talkative(NetworkClient):
    """Disconnects before it forgets."""

    def close_node(self, node_id: int, now_ms: int) -> None:
        self.disconnect(node_id, now_ms, "closed")
        super().close_node(node_id, now_ms)


MUTANT = Mutant(
    "ends the requests of a node that is closed like those of a lost connection",
    Components(network_client=Talkative),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-07",),
)
