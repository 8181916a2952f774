"""An idle connection is kept until the broker closes it, possibly during the next request."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Keeper(NetworkClient):
    """Counts every connection as busy."""

    def _is_busy(self, node_id: int) -> bool:
        return True


MUTANT = Mutant(
    "keeps idle connections until the broker closes them",
    Components(network_client=Keeper),
    caught_by=("timeout_expiry/an_idle_connection_is_closed",),
    breaks=("NET-CON-14",),
)
