"""A batch is retried until its delivery timeout although client and broker share no version that supports it."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Stubborn(Sender):
    """Retries after UNSUPPORTED_VERSION."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        if error.name == "UNSUPPORTED_VERSION":
            return not batch.is_done and not batch.has_expired(now_ms)
        return super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "retries a batch that no common version supports",
    Components(sender=Stubborn),
    caught_by=("delivery/without_a_common_version_nothing_is_written",),
    breaks=("PRD-SND-07",),
)
