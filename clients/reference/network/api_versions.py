"""What each node offers, and what follows from it: the walk from "connected" to "ready" (KIP-35, KIP-511)."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import ClientRequest, Message
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, error_for
from harness.wire.versions import negotiate

Offered = Mapping[int, tuple[int, int]]
_UNSUPPORTED_VERSION = BY_NAME["UNSUPPORTED_VERSION"].code


class ApiVersions:
    """The versions that the nodes offer, by node id; a lost connection forgets them."""

    def __init__(self) -> None:
        self._offered: dict[int, Offered] = {}

    def learn(self, node_id: int, offered: Offered) -> None:
        """Take over what a connection's ApiVersions response offers, in place of what the one before did."""
        self._offered[node_id] = offered

    def forget(self, node_id: int) -> None:
        """The node may come back as another version; one that offered nothing is fine too."""
        self._offered.pop(node_id, None)

    def version_for(self, request: ClientRequest) -> int:
        """The version to speak; raises UnsupportedVersion where there is none in common (NET-CON-04)."""
        offered = self._offered[request.node_id]
        return negotiate(request.api, offered, request.lowest, request.highest)


def offered_by(body: Message) -> Offered:
    """API key to the lowest and the highest version of an ApiVersions response."""
    return {api.api_key: (api.min_version, api.max_version) for api in body.api_keys}


def version_to_ask_instead(asked: int, body: Message) -> int | None:
    """The lower version at which to ask once more, None where the answer stands (NET-CON-02).

    A broker that does not know the version asked for may name its highest; the next question is always lower, so
    that a broker that contradicts itself ends the walk too.
    """
    if int(body.error_code) != _UNSUPPORTED_VERSION or asked == 0:
        return None
    return max(0, min(offered_by(body).get(Api.API_VERSIONS, (0, 0))[1], asked - 1))


def refusal(body: Message) -> str | None:
    """The error of an answer that cannot be used (NET-CON-03)."""
    error = error_for(int(body.error_code))
    return f"ApiVersions answered with {error.name}" if error.code else None
