"""flush() waits for queued batches, but not for those in flight."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Hurried(RecordAccumulator):
    """Counts a sent batch as complete."""

    def incomplete(self) -> list[ProducerBatch]:
        return [batch for batch in super().incomplete() if not batch.was_sent]


MUTANT = Mutant(
    "does not wait in flush() for batches in flight",
    Components(accumulator=Hurried),
    caught_by=("timeout_expiry/flush_waits_for_what_was_sent_before",),
    breaks=("PRD-CLS-01",),
)
