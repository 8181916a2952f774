"""The client ignores the correlation id of a response and completes the oldest request with it."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.headers import read_response_header
from harness.wire.primitives import Data


class CredulousClient(NetworkClient):
    """Gives the oldest request the correlation id of whichever response arrives."""

    def _handle_received(self, node_id: int, payload: Data, now_ms: int) -> None:
        oldest = self._in_flight.oldest(node_id)
        if oldest is not None:
            given, _ = read_response_header(payload, oldest.request.api, oldest.api_version)
            oldest.correlation_id = given
        super()._handle_received(node_id, payload, now_ms)


MUTANT = Mutant(
    "completes the oldest request of a connection with any response, whatever its correlation id",
    Components(network_client=CredulousClient),
    caught_by=("delivery/an_answer_to_another_request_is_none",),
    breaks=("NET-INF-01",),
)
