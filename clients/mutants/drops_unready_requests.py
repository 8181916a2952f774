"""A request to a node that is not ready disappears without an error."""

from __future__ import annotations

from clients.reference.common.requests import ClientRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Silent(NetworkClient):
    """Sends a request only if its node is ready, and raises no error otherwise."""

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        return self.can_send_request(request.node_id, now_ms) and super().send(request, now_ms)


MUTANT = Mutant(
    "silently drops a request to a node that is not ready",
    Components(network_client=Silent),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-04",),
)
