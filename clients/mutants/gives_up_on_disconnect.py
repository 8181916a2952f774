"""The batches that are in flight on a lost connection are not retried."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.error_table import KafkaError


class ImpatientSender(Sender):
    """Does not retry after NETWORK_EXCEPTION."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        return error.name != "NETWORK_EXCEPTION" and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "does not retry batches that are in flight on a lost connection",
    Components(sender=ImpatientSender),
    caught_by=("gave-up",),
    breaks=("PRD-SND-06",),
    scenario="produce/disconnect",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
