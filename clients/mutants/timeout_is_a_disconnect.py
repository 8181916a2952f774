"""A request that timed out is reported like any lost connection."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import BY_NAME, KafkaError


class Undistinguishing(Sender):
    """Reports NETWORK_EXCEPTION for timeouts too."""

    def _error_of_lost_request(self, response: ClientResponse) -> KafkaError:
        return BY_NAME["NETWORK_EXCEPTION"]


MUTANT = Mutant(
    "reports a request that timed out like any lost connection",
    Components(sender=Undistinguishing),
    caught_by=("timeout_expiry/a_timeout_is_not_a_lost_connection",),
    breaks=("NET-TMO-03",),
)
