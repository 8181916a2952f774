"""A broker's API versions are requested on its first connection only, and reused on all later ones."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.network.api_versions import Offered, offered_by
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Faithful(NetworkClient):
    """Remembers the versions of each node."""

    def _handle_api_versions(self, node_id: int, asked: int, body: Message, now_ms: int) -> None:
        super()._handle_api_versions(node_id, asked, body, now_ms)
        if not body.error_code:
            _known(self)[node_id] = offered_by(body)

    def _handle_connected(self, node_id: int, now_ms: int) -> None:
        if (offered := _known(self).get(node_id)) is None:
            super()._handle_connected(node_id, now_ms)
            return
        self._states.checking_api_versions(node_id, now_ms)
        self._api_versions.learn(node_id, offered)
        self._states.ready(node_id, now_ms)


def _known(client: NetworkClient) -> dict[int, Offered]:
    known: dict[int, Offered] = client.__dict__.setdefault("_remembered", {})
    return known


MUTANT = Mutant(
    "requests a broker's API versions once instead of on each connection",
    Components(network_client=Faithful),
    caught_by=("api-versions-first",),
    breaks=("NET-CON-01",),
)
