"""Correlation ids run through those that are kept for SASL before they wrap."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.network.request_tracker import Exchanges
from clients.reference.ports import INT32_MAX
from clients.reference.producer.producer import Components


class Unreserved(Exchanges):
    """Leaves no number out."""

    def _take_correlation_id(self) -> int:
        taken = self.next_correlation_id
        self.next_correlation_id = -INT32_MAX - 1 if taken == INT32_MAX else taken + 1
        return taken


class UnreservedClient(NetworkClient):
    """Counts so."""

    exchanges = Unreserved


COMPONENTS = Components(network_client=UnreservedClient)
