"""Every request uses the highest version that the client supports, even if the broker does not support it."""

from __future__ import annotations

from clients.reference.common.requests import ClientRequest
from clients.reference.network.api_versions import ApiVersions
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.messages import client_versions


class OwnVersions(ApiVersions):
    """Ignores the versions that the broker offers."""

    def version_for(self, request: ClientRequest) -> int:
        highest = client_versions(request.api)[1]
        return highest if request.highest is None else min(highest, request.highest)


class ModernClient(NetworkClient):
    """Uses ``OwnVersions``."""

    api_versions = OwnVersions


MUTANT = Mutant(
    "uses its own highest version of each request, even if the broker does not support it",
    Components(network_client=ModernClient),
    caught_by=(
        "delivery/a_request_has_a_version_that_both_know",
        "delivery/without_a_common_version_nothing_is_written",
    ),
    breaks=("NET-CON-04",),
)
