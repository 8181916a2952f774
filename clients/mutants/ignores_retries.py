"""A batch is retried until its delivery timeout, whatever the retries setting is."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Counting(Sender):
    """Hides the number of attempts from the comparison with retries."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        attempts, batch.attempts = batch.attempts, 0
        may = super()._can_retry(batch, error, answer, now_ms)
        batch.attempts = attempts
        return may


MUTANT = Mutant(
    "retries a batch until its delivery timeout, whatever the retries setting is",
    Components(sender=Counting),
    caught_by=("delivery/after_the_last_retry_it_is_over",),
    breaks=("PRD-SND-02",),
)
