"""A batch fails at once after NOT_ENOUGH_REPLICAS or NOT_ENOUGH_REPLICAS_AFTER_APPEND."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Demanding(Sender):
    """Does not retry after NOT_ENOUGH_REPLICAS."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        waits = not error.name.startswith("NOT_ENOUGH_REPLICAS")
        return waits and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "fails a batch at once if there are not enough replicas",
    Components(sender=Demanding),
    caught_by=("delivery/too_few_replicas_are_waited_for",),
    breaks=("PRD-SND-09",),
)
