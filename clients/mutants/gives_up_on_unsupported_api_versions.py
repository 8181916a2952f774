"""If a broker does not support the newest ApiVersions version, the client gives up instead of trying a lower one."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.network.api_versions import refusal
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class ProudClient(NetworkClient):
    """Refuses the connection after UNSUPPORTED_VERSION."""

    def _handle_api_versions(self, node_id: int, asked: int, body: Message, now_ms: int) -> None:
        refused = refusal(body)
        if refused:
            self._refuse(node_id, now_ms, refused)
        else:
            super()._handle_api_versions(node_id, asked, body, now_ms)


MUTANT = Mutant(
    "gives up on a broker that does not support the newest ApiVersions version",
    Components(network_client=ProudClient),
    caught_by=("delivery/an_older_broker_is_asked_again",),
    breaks=("NET-CON-02",),
)
