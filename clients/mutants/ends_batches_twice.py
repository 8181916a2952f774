"""A batch that was sent again is reported twice when it is stored."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.telemetry.trace import BatchEnded
from clients.seeding.mutant import Mutant


class Emphatic(ProducerBatch):
    """Says it once more to be sure."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        ended = super().succeed(base_offset, log_append_time_ms, now_ms)
        if self.attempts:
            self._trace(BatchEnded(at_ms=now_ms, batch=self.name, record_count=self.record_count))
        return ended


MUTANT = Mutant(
    "reports a batch twice that was sent again",
    Components(batch=Emphatic),
    caught_by=("transition",),
    breaks=("PRD-FIN-01",),
)
