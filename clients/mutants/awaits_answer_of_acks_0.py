"""A request with acks=0 waits for a response that never arrives, and keeps its place in flight."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class WaitingClient(NetworkClient):
    """Only marks the request as sent, and does not complete a request that gets no response."""

    def _handle_completed_send(self, node_id: int) -> None:
        self._in_flight.newest(node_id).sent = True


MUTANT = Mutant(
    "waits for a response to a request with acks=0",
    Components(network_client=WaitingClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-05",),
)
