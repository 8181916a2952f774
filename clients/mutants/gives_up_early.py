"""A request is given up when half of its time is over."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class HalfTheTime(InFlightRequests):
    """Asks for answers in half the time."""

    def add(self, request: InFlightRequest) -> None:
        request.sent_ms -= request.request.timeout_ms // 2
        super().add(request)


class HurriedClient(NetworkClient):
    """Has such requests in flight."""

    in_flight_requests = HalfTheTime


MUTANT = Mutant(
    "gives a request up when half of its time is over",
    Components(network_client=HurriedClient),
    caught_by=("timeout_expiry/an_answer_counts_until_the_limit",),
    breaks=("NET-TMO-01",),
)
