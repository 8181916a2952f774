"""A batch that must be retried is put at the end of its queue, after newer batches."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class PoliteAccumulator(RecordAccumulator):
    """Appends a retried batch to the end of its queue."""

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        self._queue(batch.partition).append(batch)


MUTANT = Mutant(
    "queues a retried batch after newer batches",
    Components(accumulator=PoliteAccumulator),
    caught_by=("bookkeeping",),
    breaks=("PRD-ACC-04",),
)
