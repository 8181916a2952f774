"""Every third batch has no producer id and no sequence numbers, so no broker can detect a duplicate of it."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_PRODUCER_ID, NO_SEQUENCE, ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Forgetful(TransactionManager):
    """Removes the producer id and sequence number of every third batch."""

    def assign_sequence(self, batch: ProducerBatch, now_ms: int) -> None:
        super().assign_sequence(batch, now_ms)
        if batch.order[0] % 3 == 0:
            batch.assign_sequence(NO_PRODUCER_ID, NO_SEQUENCE)


MUTANT = Mutant(
    "sends every third batch without a producer id and sequence numbers",
    Components(transaction_manager=Forgetful),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder", "sequence", "producer-identity"),
    breaks=("PRD-IDM-01",),
)
