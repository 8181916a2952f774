"""On a retry, every record except the first is dated one day earlier, which the batch header does not show."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt
from harness.model.verdicts import Guarantee
from harness.wire.records import Record

DAY_MS = 86_400_000


class Misdating(ProducerBatch):
    """Moves the timestamps back by a day each time the batch is queued for a retry."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(self._payload, _a_day_before)


def _a_day_before(records: list[Record]) -> list[Record]:
    first, *others = records
    return [first, *(replace(record, timestamp_ms=record.timestamp_ms - DAY_MS) for record in others)]


MUTANT = Mutant(
    "dates records one day earlier when it retries a batch",
    Components(batch=Misdating),
    caught_by=("record-timestamps",),
    breaks=("PRD-ISP-09",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
