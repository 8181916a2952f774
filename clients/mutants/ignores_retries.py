"""A batch is sent again until its time is over, whatever retries says."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Counting(Sender):
    """Counts attempts and never compares."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        attempts, batch.attempts = batch.attempts, 0
        may = super()._can_retry(batch, error, answer, now_ms)
        batch.attempts = attempts
        return may


MUTANT = Mutant(
    "sends again for as long as there is time, whatever retries says",
    Components(sender=Counting),
    caught_by=("delivery/after_the_last_retry_it_is_over",),
    breaks=("PRD-SND-02",),
)
