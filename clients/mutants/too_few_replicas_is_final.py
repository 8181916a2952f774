"""A batch that too few replicas could take, or have taken, fails at once."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Demanding(Sender):
    """Waits for no replica."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        waits = not error.name.startswith("NOT_ENOUGH_REPLICAS")
        return waits and super()._can_retry(batch, error, answer, now_ms)


MUTANT = Mutant(
    "fails a batch at once that too few replicas could take, or have taken",
    Components(sender=Demanding),
    caught_by=("delivery/too_few_replicas_are_waited_for",),
    breaks=("PRD-SND-09",),
)
