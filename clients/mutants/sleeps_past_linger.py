"""Nothing wakes the client when linger.ms is over: the batch goes when something else happens."""

from __future__ import annotations

from clients.reference.producer.batch_drain import ReadyCheck
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Dreamer(RecordAccumulator):
    """Does not say when the next batch comes of age."""

    def ready(self, now_ms: int) -> ReadyCheck:
        check = super().ready(now_ms)
        check.next_check_ms = None
        return check


MUTANT = Mutant(
    "does not wake up when linger.ms is over",
    Components(accumulator=Dreamer),
    caught_by=("timeout_expiry/a_batch_lingers_and_then_goes",),
    breaks=("PRD-ACC-03",),
)
