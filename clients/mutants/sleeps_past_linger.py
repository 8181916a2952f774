"""The client does not wake up when linger.ms has passed, and sends the batch only when another event wakes it."""

from __future__ import annotations

from clients.reference.producer.batch_drain import ReadyCheck
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Dreamer(RecordAccumulator):
    """Does not report when the next batch will be ready."""

    def ready(self, now_ms: int) -> ReadyCheck:
        check = super().ready(now_ms)
        check.next_check_ms = None
        return check


MUTANT = Mutant(
    "does not wake up when linger.ms has passed",
    Components(accumulator=Dreamer),
    caught_by=("timeout_expiry/a_batch_lingers_and_then_goes",),
    breaks=("PRD-ACC-03",),
)
