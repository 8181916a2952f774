"""flush() regards a split batch as finished and returns before its parts have ended (KAFKA-19479)."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Childless(ProducerBatch):
    """Counts as published once it has been split."""

    def was_split(self, parts: list[ProducerBatch], now_ms: int) -> None:
        super().was_split(parts, now_ms)
        self.parts, self._is_published = [], True


MUTANT = Mutant(
    "returns from flush() before the parts of a split batch have ended",
    Components(batch=Childless),
    caught_by=(
        "delivery/a_batch_too_large_goes_in_parts",
        "delivery/futures_of_a_split_batch_wait_for_their_parts",
    ),
    breaks=("PRD-SPL-06",),
)
