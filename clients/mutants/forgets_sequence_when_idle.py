"""Sequence numbers begin at 0 whenever a partition has nothing out."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Forgetful(PartitionSequences):
    """Keeps the count as long as it needs it."""

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        if not self.in_flight:
            self.next_sequence = 0
        super().assign(batch, producer_id, now_ms)


class ForgetfulManager(TransactionManager):
    """Has such sequences."""

    partition_sequences = Forgetful


MUTANT = Mutant(
    "begins at sequence 0 whenever a partition has nothing out",
    Components(transaction_manager=ForgetfulManager),
    caught_by=("delivery/a_forgotten_producer_goes_on", "sequence", "lost"),
    breaks=("PRD-IDM-02",),
)
