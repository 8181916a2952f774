"""A batch that a broker refused with a final error is sent again."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class StubbornSender(Sender):
    """Retries after INVALID_RECORD."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        in_time = not (batch.is_done or batch.has_expired(now_ms))
        return in_time and (
            error.name == "INVALID_RECORD" or super()._can_retry(batch, error, answer, now_ms)
        )


MUTANT = Mutant(
    "retries a batch after a final error",
    Components(sender=StubbornSender),
    caught_by=("delivery/what_was_refused_for_good_is_over",),
    breaks=("PRD-SND-03",),
)
