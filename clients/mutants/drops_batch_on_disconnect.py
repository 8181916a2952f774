"""The client forgets the batches that are in flight on a lost connection, and their records never get a result."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.error_table import KafkaError


class ForgetfulSender(Sender):
    """Drops a batch after a lost connection instead of queueing it again."""

    def _reenqueue_batch(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> None:
        if error.name == "NETWORK_EXCEPTION":
            self._in_flight.pop(batch, None)
            self._accumulator.unmute(batch.partition)
            self._accumulator.release(batch)
        else:
            super()._reenqueue_batch(batch, error, now_ms)


MUTANT = Mutant(
    "forgets the batches that are in flight on a lost connection",
    Components(sender=ForgetfulSender),
    caught_by=("still-pending", "bookkeeping", "state_transitions/EachRecordIsStoredOnceAndInOrder"),
    breaks=("PRD-FIN-04",),
    scenario="produce/disconnect",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
