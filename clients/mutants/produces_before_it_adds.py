"""Records are produced to partitions that are not part of the transaction yet."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant


class Premature(Transaction):
    """Takes a partition for added before it is."""

    def include(self, partition: TopicPartition, *, at_once: bool) -> None:
        super().include(partition, at_once=at_once)
        if not at_once:
            self.added[partition] = None


class Hasty(TransactionalManager):
    """Does not wait for AddPartitionsToTxn."""

    transaction_state = Premature


MUTANT = Mutant(
    "produces to a partition before AddPartitionsToTxn has succeeded",
    Components(transactional_manager=Hasty),
    caught_by=("delivery/partitions_are_added_before_they_are_produced_to",),
    breaks=("PRD-TXN-04",),
)
