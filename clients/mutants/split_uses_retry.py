"""A split counts as a failed attempt of its parts."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Charging(RecordAccumulator):
    """Adds an attempt to each part."""

    def split_and_reenqueue(self, batch: ProducerBatch, now_ms: int) -> list[ProducerBatch]:
        parts = super().split_and_reenqueue(batch, now_ms)
        for part in parts:
            part.attempts += 1
        return parts


MUTANT = Mutant(
    "counts a split as a failed attempt",
    Components(accumulator=Charging),
    caught_by=("state_transitions/a_split_batch_lives_on_in_its_parts",),
    breaks=("PRD-SPL-03",),
)
