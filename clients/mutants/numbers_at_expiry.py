"""A batch that expires before it is sent uses up sequence numbers."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Wasteful(RecordAccumulator):
    """Assigns sequence numbers to expired batches."""

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        expired = super().take_expired(now_ms)
        for batch in expired:
            if self._transactions and self._transactions.producer_id.is_valid and not batch.has_sequence:
                self._transactions.assign_sequence(batch, now_ms)
        return expired


MUTANT = Mutant(
    "uses up sequence numbers for batches that expire before they are sent",
    Components(accumulator=Wasteful),
    caught_by=("timeout_expiry/what_was_never_sent_leaves_no_gap",),
    breaks=("PRD-EXP-07",),
)
