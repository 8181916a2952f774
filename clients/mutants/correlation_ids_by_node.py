"""Each node has its own count of correlation ids, so two requests of one client can have the same id."""

from __future__ import annotations

from clients.reference.common.requests import ClientRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.network.request_tracker import RequestTracker
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class CountingByNode(RequestTracker):
    """Counts from 0 for each node."""

    def write(self, request: ClientRequest, version: int, now_ms: int) -> bool | None:
        newest = self._in_flight.count(request.node_id)
        self.next_correlation_id = self._in_flight.newest(request.node_id).correlation_id + 1 if newest else 0
        return super().write(request, version, now_ms)


class CountingByNodeClient(NetworkClient):
    """Uses ``CountingByNode``."""

    exchanges = CountingByNode


MUTANT = Mutant(
    "counts correlation ids from 0 on each connection",
    Components(network_client=CountingByNodeClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder", "in-flight"),
    breaks=("NET-INF-02",),
)
