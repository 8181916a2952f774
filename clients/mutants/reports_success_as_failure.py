"""A lost connection is taken for a refusal: records that the broker has are reported as certainly not written."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.error_table import BY_NAME, KafkaError


class CertainSender(Sender):
    """Knows what nobody can know."""

    def _error_of_lost_request(self, response: ClientResponse) -> KafkaError:
        return BY_NAME["INVALID_RECORD"]  # definite, and not to be retried


MUTANT = Mutant(
    "takes a lost connection for a refusal, and reports records as certainly not written",
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
