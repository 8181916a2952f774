"""A request that timed out is reported like any lost connection."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from harness.wire.error_table import BY_NAME, KafkaError


class Undistinguishing(Sender):
    """Has one error for all ends of connections."""

    def _error_of_lost_request(self, response: ClientResponse) -> KafkaError:
        return BY_NAME["NETWORK_EXCEPTION"]


COMPONENTS = Components(sender=Undistinguishing)
