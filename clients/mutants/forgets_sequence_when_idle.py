"""The sequence numbers of a partition restart at 0 whenever it has no batch in flight."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Forgetful(PartitionSequences):
    """Resets the next sequence number if no batch is in flight."""

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        if not self.in_flight:
            self.next_sequence = 0
        super().assign(batch, producer_id, now_ms)


class ForgetfulManager(TransactionManager):
    """Uses ``Forgetful``."""

    partition_sequences = Forgetful


MUTANT = Mutant(
    "restarts the sequence numbers at 0 whenever a partition has no batch in flight",
    Components(transaction_manager=ForgetfulManager),
    caught_by=("delivery/a_forgotten_producer_goes_on", "sequence", "lost"),
    breaks=("PRD-IDM-02",),
)
