"""A broker that asks to be left alone is sent the next request at once."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.network.in_flight_requests import InFlightRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class PushyClient(NetworkClient):
    """Reads past throttle_time_ms."""

    def _maybe_throttle(self, answered: InFlightRequest, body: Message, now_ms: int) -> None:
        """Nothing."""


COMPONENTS = Components(network_client=PushyClient)
