"""A retried batch is reported twice when it is stored."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.telemetry.trace import BatchEnded
from clients.seeding.mutant import Mutant


class Emphatic(ProducerBatch):
    """Emits a second end event for a batch that was retried."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        ended = super().succeed(base_offset, log_append_time_ms, now_ms)
        if self.attempts:
            self._trace(BatchEnded(at_ms=now_ms, batch=self.name, record_count=self.record_count))
        return ended


MUTANT = Mutant(
    "reports a retried batch twice",
    Components(batch=Emphatic),
    caught_by=("transition",),
    breaks=("PRD-FIN-01",),
)
