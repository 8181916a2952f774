"""A lost connection does not make the client request metadata."""

from __future__ import annotations

from typing import Any

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unmoved(NetworkClient):
    """Restores the metadata state after a lost connection."""

    def _lost(self, node_id: int, now_ms: int, state: str, why: str, **more: Any) -> None:
        needed = self._metadata._need_full
        super()._lost(node_id, now_ms, state, why, **more)
        self._metadata._need_full = needed


MUTANT = Mutant(
    "does not request metadata when a connection is lost",
    Components(network_client=Unmoved),
    caught_by=("timeout_expiry/a_lost_connection_makes_metadata_stale",),
    breaks=("NET-TMO-05",),
)
