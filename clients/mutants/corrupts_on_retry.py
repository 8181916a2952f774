"""On a retry, one bit of a value is flipped and the checksum is corrected, so the broker accepts the batch."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt
from harness.model.verdicts import Guarantee
from harness.wire.records import Record


class Decaying(ProducerBatch):
    """Flips a bit each time the batch is queued for a retry."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(self._payload, _damaged)


def _damaged(records: list[Record]) -> list[Record]:
    first, *others = records
    value = first.value or b"\0"
    return [replace(first, value=value[:-1] + bytes([value[-1] ^ 1])), *others]


MUTANT = Mutant(
    "corrupts a value when it retries a batch",
    Components(batch=Decaying),
    caught_by=("corrupted", "state_transitions/BatchesGoWhenTheyMayAndInOrder"),
    breaks=("PRD-ACC-12",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
