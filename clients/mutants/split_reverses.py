"""The parts of a split batch are sent in reverse order."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Reversing(RecordAccumulator):
    """Queues the parts in reverse order."""

    def split_and_reenqueue(self, batch: ProducerBatch, now_ms: int) -> list[ProducerBatch]:
        parts = super().split_and_reenqueue(batch, now_ms)
        queue = self._queue(batch.partition)
        for part in parts:
            queue.remove(part)
        queue.extendleft(parts)
        return parts


MUTANT = Mutant(
    "sends the parts of a split batch in reverse order",
    Components(accumulator=Reversing),
    caught_by=("delivery/a_batch_too_large_goes_in_parts",),
    breaks=("PRD-SPL-01",),
)
