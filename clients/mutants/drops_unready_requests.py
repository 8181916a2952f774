"""A request for a node that is not ready disappears without an error."""

from __future__ import annotations

from clients.reference.network_client import NetworkClient
from clients.reference.producer import Components
from clients.reference.requests import ClientRequest


class Silent(NetworkClient):
    """Sends what it can."""

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        return self.can_send_request(request.node_id, now_ms) and super().send(request, now_ms)


COMPONENTS = Components(network_client=Silent)
