"""A record for a topic that the broker does not know fails at once, though the topic may come back."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Final(Sender):
    """Does not believe in topics that it cannot see."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        unknown = error.name in ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
        return not unknown and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "fails records at once whose topic the broker does not know",
    Components(sender=Final),
    caught_by=("delivery/a_deleted_topic_fails_alone",),
    breaks=("PRD-SND-11",),
)
