"""flush() waits for linger.ms instead of sending lingering batches at once."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Leisurely(RecordAccumulator):
    """Ignores that a flush is in progress."""

    def begin_flush(self) -> None:
        """Do nothing."""

    def end_flush(self) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "waits for linger.ms in flush()",
    Components(accumulator=Leisurely),
    caught_by=("timeout_expiry/each_reason_makes_a_batch_sendable",),
    breaks=("PRD-ACC-02",),
)
