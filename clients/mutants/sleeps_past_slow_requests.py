"""Nothing wakes the client for a request that takes too long: it is given up when something else happens."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unhurried(InFlightRequests):
    """Finds slow requests when it is asked, and asks for no round."""

    def next_expiry_ms(self) -> int | None:
        return None


class Sleeper(NetworkClient):
    """Sets no alarm for request.timeout.ms."""

    def next_deadline_ms(self) -> int | None:
        in_flight = self._in_flight
        self._in_flight = Unhurried(0)
        try:
            return super().next_deadline_ms()
        finally:
            self._in_flight = in_flight


MUTANT = Mutant(
    "does not wake up for a request that takes too long",
    Components(network_client=Sleeper),
    caught_by=("timeout_expiry/a_slow_request_ends_its_connection",),
    breaks=("NET-TMO-01",),
)
