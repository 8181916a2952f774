"""The client sends one request more than max.in.flight.requests.per.connection before a response arrives."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class OneMore(InFlightRequests):
    """Raises the limit by one."""

    def __init__(self, max_per_connection: int) -> None:
        super().__init__(max_per_connection + 1)


class GreedyClient(NetworkClient):
    """Uses ``OneMore``."""

    in_flight_requests = OneMore


MUTANT = Mutant(
    "has one request more in flight than max.in.flight.requests.per.connection allows",
    Components(network_client=GreedyClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder", "in-flight", "requests-in-flight"),
    breaks=("NET-INF-03",),
)
