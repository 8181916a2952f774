"""The least loaded node may be one that throttles or is in its backoff."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class IndiscriminateClient(NetworkClient):
    """Asks the node with the fewest requests in flight, in whatever state it is."""

    def least_loaded_node(self, now_ms: int) -> int | None:
        return min(self._metadata.nodes, key=self._in_flight.count, default=None)


COMPONENTS = Components(network_client=IndiscriminateClient)
