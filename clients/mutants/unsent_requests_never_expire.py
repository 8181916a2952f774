"""A request that cannot be sent waits for its node without any limit."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Patient(ConsumerNetworkClient):
    """Does not look at the age of requests."""

    def _fail_expired(self, now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "waits without limit for a node that a request cannot be sent to",
    Components(consumer_network_client=Patient),
    caught_by=("state_transitions/a_request_that_cannot_be_sent_ends_after_its_timeout",),
    breaks=("CSM-CNC-02",),
)
