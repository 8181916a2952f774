"""The API versions that each node offers, and how they are negotiated on a new connection (KIP-35, KIP-511).

A response also tells the features that the whole cluster has finalized (KIP-584). Those of the highest epoch count,
whichever node told them, and they are kept when its connection is lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import ClientRequest, Message
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, error_for
from harness.wire.versions import negotiate

Offered = Mapping[int, tuple[int, int]]
UNKNOWN_EPOCH = -1
_UNSUPPORTED_VERSION = BY_NAME["UNSUPPORTED_VERSION"].code


class ApiVersions:
    """The versions that the nodes offer, by node id. They are forgotten when a connection is lost."""

    def __init__(self) -> None:
        self._offered: dict[int, Offered] = {}
        self._features_epoch = UNKNOWN_EPOCH
        self._features: Mapping[str, int] = {}

    def learn(self, node_id: int, offered: Offered) -> None:
        """Store what a connection's ApiVersions response offers. It replaces what the previous connection's did."""
        self._offered[node_id] = offered

    def learn_features(self, body: Message) -> None:
        """Store the finalized features of a response, if it knows newer ones. Versions below 3 know none."""
        epoch = getattr(body, "finalized_features_epoch", UNKNOWN_EPOCH)
        if epoch > self._features_epoch:
            self._features_epoch = epoch
            self._features = {each.name: each.max_version_level for each in body.finalized_features}

    def finalized_feature(self, name: str) -> tuple[int, int]:
        """Return the epoch of the features, and the level of one: 0 if the cluster has not finalized it."""
        return self._features_epoch, self._features.get(name, 0)

    def forget(self, node_id: int) -> None:
        """Forget the node's versions, as it may return with another release. A node without versions is allowed."""
        self._offered.pop(node_id, None)

    def offers(self, node_id: int, api: Api, version: int) -> bool | None:
        """Return whether a node's highest version of ``api`` is at least ``version``. None if it is unknown."""
        offered = self._offered.get(node_id)
        return None if offered is None else offered.get(api, (0, -1))[1] >= version

    def version_for(self, request: ClientRequest) -> int:
        """Return the version to use for a request. Raise UnsupportedVersion if there is none in common (NET-CON-04)."""
        offered = self._offered[request.node_id]
        return negotiate(request.api, offered, request.lowest, request.highest)


def offered_by(body: Message) -> Offered:
    """Return the lowest and the highest version per API key of an ApiVersions response."""
    return {api.api_key: (api.min_version, api.max_version) for api in body.api_keys}


def version_to_ask_instead(asked: int, body: Message) -> int | None:
    """Return the lower version for another ApiVersions request, or None if the response is final (NET-CON-02).

    A broker that does not support the requested version may name its highest. The next request always has a lower
    version, so the exchange also ends with a broker that contradicts itself.
    """
    if int(body.error_code) != _UNSUPPORTED_VERSION or asked == 0:
        return None
    return max(0, min(offered_by(body).get(Api.API_VERSIONS, (0, 0))[1], asked - 1))


def refusal(body: Message) -> str | None:
    """Describe the error of an unusable response, or return None if there is no error (NET-CON-03)."""
    error = error_for(int(body.error_code))
    return f"ApiVersions answered with {error.name}" if error.code else None
