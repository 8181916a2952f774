"""A request times out after half of its timeout."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class HalfTheTime(InFlightRequests):
    """Shortens the timeout of each request by half."""

    def add(self, request: InFlightRequest) -> None:
        request.sent_ms -= request.request.timeout_ms // 2
        super().add(request)


class HurriedClient(NetworkClient):
    """Uses ``HalfTheTime``."""

    in_flight_requests = HalfTheTime


MUTANT = Mutant(
    "gives up a request after half of its timeout",
    Components(network_client=HurriedClient),
    caught_by=("timeout_expiry/an_answer_counts_until_the_limit",),
    breaks=("NET-TMO-01",),
)
