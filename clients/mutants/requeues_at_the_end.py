"""A batch that is to be sent again stands at the end of its queue, behind younger ones."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class PoliteAccumulator(RecordAccumulator):
    """Lets everybody go first."""

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        self._queue(batch.partition).append(batch)


MUTANT = Mutant(
    "puts a batch that goes again behind younger ones",
    Components(accumulator=PoliteAccumulator),
    caught_by=("bookkeeping",),
    breaks=("PRD-ACC-04",),
)
