"""A batch that is too large for the broker fails as a whole, including its small records."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.error_table import KafkaError


class Unsplitting(Sender):
    """Never splits a batch."""

    def _can_split(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> bool:
        return False


MUTANT = Mutant(
    "fails a batch that is too large for the broker instead of splitting it",
    Components(sender=Unsplitting),
    caught_by=("oversized-batch-not-split", "delivery/a_batch_too_large_goes_in_parts"),
    breaks=("PRD-SPL-01",),
    scenarios=("broker/smaller-batches",),
    scenario="broker/smaller-batches",
    guarantee=Guarantee.IDEMPOTENT,
)
