"""The requests of a lost connection are completed in the wrong order, the newest first."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Stack(InFlightRequests):
    """Returns the requests of a node in reverse order."""

    def clear(self, node_id: int) -> list[InFlightRequest]:
        return super().clear(node_id)[::-1]


class BackwardClient(NetworkClient):
    """Uses ``Stack``."""

    in_flight_requests = Stack


MUTANT = Mutant(
    "completes the requests of a lost connection in reverse order",
    Components(network_client=BackwardClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder", "in-flight"),
    breaks=("NET-INF-06",),
)
