"""A single record that is too large for the broker is retried until its delivery timeout."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Insistent(Sender):
    """Retries after MESSAGE_TOO_LARGE."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        if error.name == "MESSAGE_TOO_LARGE":
            return not (batch.is_done or batch.has_expired(now_ms))
        return super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "retries a single record that is too large",
    Components(sender=Insistent),
    caught_by=("delivery/a_record_too_large_fails_alone",),
    breaks=("PRD-SPL-02",),
)
