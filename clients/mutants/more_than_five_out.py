"""A partition may have more than five batches in flight, although brokers remember only five."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sequences import NONE_ACKED, PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Unbounded(PartitionSequences):
    """Allows a thousand batches in flight."""

    @property
    def most_in_flight(self) -> int:
        return 1 if self.last_acked_sequence == NONE_ACKED else 1_000


class UnboundedManager(TransactionManager):
    """Uses ``Unbounded``."""

    partition_sequences = Unbounded


MUTANT = Mutant(
    "allows more than five batches of a partition in flight",
    Components(transaction_manager=UnboundedManager),
    caught_by=("delivery/no_more_than_five_batches_are_out",),
    breaks=("PRD-IDM-04",),
)
