"""On a retry, the client adds a header to the first record of the batch."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt
from harness.model.verdicts import Guarantee
from harness.wire.records import Record


class Labelled(ProducerBatch):
    """Adds a header to its first record each time the batch is queued for a retry."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(self._payload, _labelled)


def _labelled(records: list[Record]) -> list[Record]:
    first, *others = records
    return [replace(first, headers=(*first.headers, ("retried", b"1"))), *others]


MUTANT = Mutant(
    "adds a header to a record when it retries the batch",
    Components(batch=Labelled),
    caught_by=("corrupted",),
    breaks=("PRD-ACC-12",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
