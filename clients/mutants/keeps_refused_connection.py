"""A connection stays open after its ApiVersions request was answered with an error."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Tolerant(NetworkClient):
    """Does not close a refused connection."""

    def _refuse(self, node_id: int, now_ms: int, what: str) -> None:
        pass


MUTANT = Mutant(
    "keeps a connection whose ApiVersions request was answered with an error",
    Components(network_client=Tolerant),
    caught_by=("state_transitions/ConnectionsWalkTheirStates",),
    breaks=("NET-CON-03",),
)
