"""The least loaded node may be one that throttles or is in its backoff."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class IndiscriminateClient(NetworkClient):
    """Asks the node with the fewest requests in flight, in whatever state it is."""

    def least_loaded_node(self, now_ms: int) -> int | None:
        return min(self._metadata.nodes, key=self._in_flight.count, default=None)


MUTANT = Mutant(
    "asks the node with the fewest requests, in whatever state it is",
    Components(network_client=IndiscriminateClient),
    caught_by=("state_transitions/ConnectionsWalkTheirStates", "delivery/a_throttled_node_is_asked_nothing"),
    breaks=("NET-CON-13",),
)
