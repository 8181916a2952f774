"""A request that times out does not close its connection, and its response is given to the next request."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class AbandoningClient(NetworkClient):
    """Fails only the request and keeps the connection."""

    def _handle_slow_requests(self, now_ms: int) -> None:
        for node_id in self._in_flight.nodes_with_expired_requests(now_ms):
            slow = self._in_flight.complete_oldest(node_id)
            self._completions.add(slow.request, ClientResponse(None, disconnected=True, timed_out=True))


MUTANT = Mutant(
    "keeps the connection of a request that timed out",
    Components(network_client=AbandoningClient),
    caught_by=(
        "state_transitions/RequestsEndOnceAndInOrder",
        "timeout_expiry/a_slow_request_ends_its_connection",
    ),
    breaks=("NET-TMO-01", "NET-TMO-02"),
)
