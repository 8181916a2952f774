"""The sequence numbers of a batch that expired after it was sent are given to the next records."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Thrifty(PartitionSequences):
    """Takes back the sequence numbers of a batch with an unknown outcome."""

    def is_unresolved(self, batch: ProducerBatch, now_ms: int) -> None:
        if not self.in_flight:
            self.next_sequence = batch.base_sequence


class ThriftyManager(TransactionManager):
    """Uses ``Thrifty``."""

    partition_sequences = Thrifty


MUTANT = Mutant(
    "gives the sequence numbers of an expired batch to other records",
    Components(transaction_manager=ThriftyManager),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-IDM-13",),
)
