"""A connection that nothing happens on is kept until the broker closes it, under the next request."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class Keeper(NetworkClient):
    """Takes every connection for busy."""

    def _is_busy(self, node_id: int) -> bool:
        return True


COMPONENTS = Components(network_client=Keeper)
