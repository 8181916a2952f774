"""The second batch of a chain goes before the first is acknowledged, as in Java: it can be stored first."""

from __future__ import annotations

from clients.reference.config.producer_config import MAX_IN_FLIGHT_IDEMPOTENT
from clients.reference.producer.producer import Components
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Eager(PartitionSequences):
    """Holds nothing back."""

    @property
    def most_in_flight(self) -> int:
        return MAX_IN_FLIGHT_IDEMPOTENT


class EagerManager(TransactionManager):
    """Has such sequences."""

    partition_sequences = Eager


MUTANT = Mutant(
    "sends the second batch of a chain before the first is acknowledged, as Java does",
    Components(transaction_manager=EagerManager),
    caught_by=("delivery/the_first_of_a_chain_goes_alone",),
    breaks=("PRD-IDM-07",),
)
