"""A batch that is sent again has its records in reverse: under the same numbers, so that no broker can object."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt
from harness.model.verdicts import Guarantee


class Reversing(ProducerBatch):
    """Turns round once it has failed; what it reports for each record fits the new order."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        if self.attempts == 1:
            self._payload = rebuilt(self._payload, lambda records: records[::-1])
            last = self.record_count - 1
            self.callbacks = [(last - index, at_ms, callback) for index, at_ms, callback in self.callbacks]


MUTANT = Mutant(
    "turns the records of a batch round when it sends it again",
    Components(batch=Reversing),
    caught_by=("reordered", "state_transitions/EachRecordIsStoredOnceAndInOrder"),
    breaks=("PRD-SND-14", "E2E-DEL-02"),
    scenario="produce/disconnect",
    guarantee=Guarantee.IDEMPOTENT,
)
