"""The client sends the next request at once to a broker that throttles it."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.network.in_flight_requests import InFlightRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class PushyClient(NetworkClient):
    """Ignores throttle_time_ms."""

    def _maybe_throttle(self, answered: InFlightRequest, body: Message, now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "sends the next request at once to a broker that throttles it",
    Components(network_client=PushyClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/a_throttled_node_is_left_alone",
        "throttle-ignored",
    ),
    breaks=("NET-CON-12",),
    scenarios=("frame/throttled",),
)
