"""A batch that was corrupted in transit fails instead of being retried."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Offended(Sender):
    """Does not retry after CORRUPT_MESSAGE."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        return error.name != "CORRUPT_MESSAGE" and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "fails a batch that was corrupted in transit instead of retrying it",
    Components(sender=Offended),
    caught_by=("delivery/what_may_succeed_later_is_sent_again",),
    breaks=("PRD-SND-08",),
)
