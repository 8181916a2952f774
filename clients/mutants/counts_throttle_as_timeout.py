"""The time for which a broker throttles the client counts towards the request timeout."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Counting(InFlightRequests):
    """Does not extend the time of throttled requests."""

    def throttled(self, node_id: int, throttle_ms: int) -> None:
        """Do nothing."""


class CountingClient(NetworkClient):
    """Uses ``Counting``."""

    in_flight_requests = Counting


MUTANT = Mutant(
    "counts throttle time towards the request timeout",
    Components(network_client=CountingClient),
    caught_by=("timeout_expiry/throttled_time_is_added_to_the_limit",),
    breaks=("NET-TMO-04",),
)
