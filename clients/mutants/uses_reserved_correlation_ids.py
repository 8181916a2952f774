"""Before they wrap, correlation ids also use the numbers that are reserved for SASL."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.network.request_tracker import RequestTracker
from clients.reference.ports import INT32_MAX
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unreserved(RequestTracker):
    """Counts through the reserved numbers."""

    def _take_correlation_id(self) -> int:
        taken = self.next_correlation_id
        self.next_correlation_id = -INT32_MAX - 1 if taken == INT32_MAX else taken + 1
        return taken


class UnreservedClient(NetworkClient):
    """Uses ``Unreserved``."""

    exchanges = Unreserved


MUTANT = Mutant(
    "gives requests the correlation ids that are reserved for SASL",
    Components(network_client=UnreservedClient),
    caught_by=("state_transitions/correlation_ids_go_round",),
    breaks=("NET-INF-02",),
)
