"""delivery.timeout.ms starts again with every attempt instead of running from the creation of the batch."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Restarting(ProducerBatch):
    """Extends its deadline each time it is drained."""

    def drained(self, now_ms: int) -> None:
        self.expires_ms += now_ms - self.drained_ms
        super().drained(now_ms)


MUTANT = Mutant(
    "restarts delivery.timeout.ms with every attempt",
    Components(batch=Restarting),
    caught_by=("timeout_expiry/every_record_has_a_result_in_time",),
    breaks=("PRD-EXP-01",),
)
