"""Requests of a lost connection end in the wrong order: the newest first."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Stack(InFlightRequests):
    """Gives what was in flight back in reverse."""

    def clear(self, node_id: int) -> list[InFlightRequest]:
        return super().clear(node_id)[::-1]


class BackwardClient(NetworkClient):
    """Keeps its requests in a stack."""

    in_flight_requests = Stack


MUTANT = Mutant(
    "ends what was in flight on a lost connection in reverse",
    Components(network_client=BackwardClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder", "in-flight"),
    breaks=("NET-INF-06",),
)
