"""A retried batch has its records in reverse order under the same sequence numbers, so brokers accept it."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt
from harness.model.verdicts import Guarantee


class Reversing(ProducerBatch):
    """Reverses its records, and the results that it reports for them, before the first retry."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        if self.attempts == 1:
            self._payload = rebuilt(self._payload, lambda records: records[::-1])
            last = self.record_count - 1
            self.callbacks = [(last - index, at_ms, callback) for index, at_ms, callback in self.callbacks]


MUTANT = Mutant(
    "reverses the records of a batch when it retries it",
    Components(batch=Reversing),
    caught_by=("reordered", "state_transitions/EachRecordIsStoredOnceAndInOrder"),
    breaks=("PRD-SND-14", "E2E-DEL-02"),
    scenario="produce/disconnect",
    guarantee=Guarantee.IDEMPOTENT,
)
