"""A connection whose question for versions was answered with an error stays open."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class Tolerant(NetworkClient):
    """Ends no connection over an answer."""

    def _refuse(self, node_id: int, now_ms: int, what: str) -> None:
        pass


COMPONENTS = Components(network_client=Tolerant)
