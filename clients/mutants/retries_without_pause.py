"""A refused batch is retried at once."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class RestlessAccumulator(RecordAccumulator):
    """Ignores the backoff of a batch."""

    def _drainable(self, partition: tuple[str, int], now_ms: int) -> ProducerBatch | None:
        queue = self._waiting.get(partition)
        if queue is None or partition in self._muted:
            return None
        return self._candidate(queue)


MUTANT = Mutant(
    "retries a refused batch at once",
    Components(accumulator=RestlessAccumulator),
    caught_by=("bookkeeping",),
    breaks=("PRD-ACC-04",),
)
