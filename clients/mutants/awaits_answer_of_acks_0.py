"""A request without acknowledgement waits for the answer that never comes, and holds its place in flight."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class WaitingClient(NetworkClient):
    """Notes that a request was written, and no more."""

    def _handle_completed_send(self, node_id: int) -> None:
        self._in_flight.newest(node_id).sent = True


MUTANT = Mutant(
    "waits for the answer to a request without acknowledgement",
    Components(network_client=WaitingClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-05",),
)
