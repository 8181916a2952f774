"""The parts of a split batch get a new delivery timeout that starts at the split."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class GenerousAccumulator(RecordAccumulator):
    """Restarts the delivery timeout of the parts."""

    def split_and_reenqueue(self, batch: ProducerBatch, now_ms: int) -> list[ProducerBatch]:
        parts = super().split_and_reenqueue(batch, now_ms)
        for part in parts:
            part.created_ms, part.expires_ms = now_ms, now_ms + self._config.delivery_timeout_ms
        return parts


MUTANT = Mutant(
    "gives the parts of a split batch a whole new delivery.timeout.ms",
    Components(accumulator=GenerousAccumulator),
    caught_by=(
        "state_transitions/a_split_batch_lives_on_in_its_parts",
        "timeout_expiry/a_split_is_no_retry_and_no_second_life",
    ),
    breaks=("PRD-SPL-03",),
)
