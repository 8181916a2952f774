"""The memory of a failed batch is never returned."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class LeakyAccumulator(RecordAccumulator):
    """Returns memory only for batches that succeeded."""

    def release(self, batch: ProducerBatch) -> None:
        if batch.result is not None and batch.result.error is not None:
            self._incomplete.pop(batch, None)
        else:
            super().release(batch)


MUTANT = Mutant(
    "never returns the memory of batches that failed",
    Components(accumulator=LeakyAccumulator),
    caught_by=(
        "state_transitions/BatchesGoWhenTheyMayAndInOrder",
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
    ),
    breaks=("PRD-ACC-11",),
)
