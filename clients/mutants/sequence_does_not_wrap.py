"""Sequence numbers continue past 2147483647, the highest number that a broker can read."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Unbounded(PartitionSequences):
    """Adds without wrapping."""

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        before = self.next_sequence
        super().assign(batch, producer_id, now_ms)
        self.next_sequence = before + batch.record_count


class UnboundedManager(TransactionManager):
    """Uses ``Unbounded``."""

    partition_sequences = Unbounded


MUTANT = Mutant(
    "does not wrap sequence numbers after 2147483647",
    Components(transaction_manager=UnboundedManager),
    caught_by=("delivery/sequence_numbers_go_round",),
    breaks=("PRD-IDM-02",),
)
