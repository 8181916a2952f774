"""flush() does not end lingering: it waits for linger.ms."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Leisurely(RecordAccumulator):
    """Is not in a hurry for anybody."""

    def begin_flush(self) -> None:
        """Batches go when they go."""

    def end_flush(self) -> None:
        """Nothing began."""


MUTANT = Mutant(
    "lingers in flush()",
    Components(accumulator=Leisurely),
    caught_by=("timeout_expiry/each_reason_makes_a_batch_sendable",),
    breaks=("PRD-ACC-02",),
)
