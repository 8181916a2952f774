"""A batch may be retried at once, because it is given no backoff."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Impatient(RecordAccumulator):
    """Ignores retry.backoff.ms."""

    def retry_delay_ms(self, batch: ProducerBatch) -> int:
        return 0


MUTANT = Mutant(
    "gives a refused batch no backoff",
    Components(accumulator=Impatient),
    caught_by=(
        "timeout_expiry/a_retry_waits_its_backoff",
        "timeout_expiry/what_must_wait_waits",
        "retry-spacing",
    ),
    breaks=("PRD-ACC-04",),
    scenarios=("frame/error-after-append",),
)
