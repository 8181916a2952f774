"""Every record opens a batch of its own, whatever room the last one has."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Wasteful(RecordAccumulator):
    """Finds no room."""

    def _has_room(self, batch: ProducerBatch, size_bytes: int) -> bool:
        return False


MUTANT = Mutant(
    "opens a batch for every record, whatever room the last one has",
    Components(accumulator=Wasteful),
    caught_by=("state_transitions/BatchesGoWhenTheyMayAndInOrder",),
    breaks=("PRD-ACC-01",),
)
