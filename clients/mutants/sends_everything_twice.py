"""Every Produce request is sent twice if the connection allows a second one in flight."""

from __future__ import annotations

from msgspec.structs import replace

from clients.reference.common.requests import ClientRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api


class Insistent(NetworkClient):
    """Sends each Produce request again."""

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        was_sent = super().send(request, now_ms)
        is_produce = request.api is Api.PRODUCE and request.expects_response
        if was_sent and is_produce and self.can_send_request(request.node_id, now_ms):
            super().send(replace(request, on_complete=lambda response, at_ms: None), now_ms)
        return was_sent


MUTANT = Mutant(
    "sends every Produce request twice",
    Components(network_client=Insistent),
    caught_by=("duplicate", "delivery/at_least_once"),
    breaks=("E2E-DEL-03",),
)
