"""A lost connection is treated as a refusal: records that may be stored are reported as definitely not written."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.error_table import BY_NAME, KafkaError


class CertainSender(Sender):
    """Replaces the error of a lost request by INVALID_RECORD."""

    def _error_of_lost_request(self, response: ClientResponse) -> KafkaError:
        return BY_NAME["INVALID_RECORD"]  # definite and not retriable


MUTANT = Mutant(
    "treats a lost connection as a refusal and reports its records as definitely not written",
    Components(sender=CertainSender),
    caught_by=(
        "unexpected-record",
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "delivery/at_most_once",
    ),
    breaks=("PRD-SND-01",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
