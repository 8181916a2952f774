"""The client does not wake up when a request times out, and fails it only when another event wakes it."""

from __future__ import annotations

from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unhurried(InFlightRequests):
    """Reports no time at which a request expires."""

    def next_expiry_ms(self) -> int | None:
        return None


class Sleeper(NetworkClient):
    """Reports no deadline for request.timeout.ms."""

    def next_deadline_ms(self) -> int | None:
        in_flight = self._in_flight
        self._in_flight = Unhurried(0)
        try:
            return super().next_deadline_ms()
        finally:
            self._in_flight = in_flight


MUTANT = Mutant(
    "does not wake up when a request times out",
    Components(network_client=Sleeper),
    caught_by=("timeout_expiry/a_slow_request_ends_its_connection",),
    breaks=("NET-TMO-01",),
)
