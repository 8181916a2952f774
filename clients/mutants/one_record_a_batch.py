"""Every record opens a new batch, even if the last batch has room."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Wasteful(RecordAccumulator):
    """Never finds room in a batch."""

    def _has_room(self, batch: ProducerBatch, size_bytes: int) -> bool:
        return False


MUTANT = Mutant(
    "opens a new batch for every record, even if the last batch has room",
    Components(accumulator=Wasteful),
    caught_by=("state_transitions/BatchesGoWhenTheyMayAndInOrder",),
    breaks=("PRD-ACC-01",),
)
