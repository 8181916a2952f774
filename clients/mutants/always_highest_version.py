"""Every request has the highest version that the client knows, whatever the broker offers."""

from __future__ import annotations

from clients.reference.common.requests import ClientRequest
from clients.reference.network.api_versions import ApiVersions
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from harness.wire.messages import client_versions


class OwnVersions(ApiVersions):
    """Does not listen to what is offered."""

    def version_for(self, request: ClientRequest) -> int:
        highest = client_versions(request.api)[1]
        return highest if request.highest is None else min(highest, request.highest)


class ModernClient(NetworkClient):
    """Has such versions."""

    api_versions = OwnVersions


COMPONENTS = Components(network_client=ModernClient)
