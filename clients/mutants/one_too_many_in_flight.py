"""One request more than max.in.flight.requests.per.connection is written before an answer."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class OneMore(InFlightRequests):
    """Counts its requests from zero."""

    def __init__(self, max_per_connection: int) -> None:
        super().__init__(max_per_connection + 1)


class GreedyClient(NetworkClient):
    """Has a limit of one more."""

    in_flight_requests = OneMore


MUTANT = Mutant(
    "has one request more out than max.in.flight.requests.per.connection allows",
    Components(network_client=GreedyClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder", "in-flight", "requests-in-flight"),
    breaks=("NET-INF-03",),
)
