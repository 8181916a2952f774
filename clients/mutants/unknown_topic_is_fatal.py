"""A record for a topic that the broker does not know fails at once, although the topic may reappear."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Final(Sender):
    """Does not retry after UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        unknown = error.name in ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
        return not unknown and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "fails a record at once if the broker does not know its topic",
    Components(sender=Final),
    caught_by=("delivery/a_deleted_topic_fails_alone",),
    breaks=("PRD-SND-11",),
)
