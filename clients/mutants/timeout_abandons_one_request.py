"""A request that takes too long ends alone: its connection stays, and its answer is given to the next one."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class AbandoningClient(NetworkClient):
    """Gives up on the request and trusts the connection."""

    def _handle_slow_requests(self, now_ms: int) -> None:
        for node_id in self._in_flight.nodes_with_expired_requests(now_ms):
            slow = self._in_flight.complete_oldest(node_id)
            self._completions.add(slow.request, ClientResponse(None, disconnected=True, timed_out=True))


MUTANT = Mutant(
    "ends a request that takes too long, and keeps its connection",
    Components(network_client=AbandoningClient),
    caught_by=(
        "state_transitions/RequestsEndOnceAndInOrder",
        "timeout_expiry/a_slow_request_ends_its_connection",
    ),
    breaks=("NET-TMO-01", "NET-TMO-02"),
)
