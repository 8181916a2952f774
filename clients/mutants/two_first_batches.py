"""The second batch of a chain is sent before the first is acknowledged, as in Java. It can be stored first."""

from __future__ import annotations

from clients.reference.config.producer_config import MAX_IN_FLIGHT_IDEMPOTENT
from clients.reference.producer.producer import Components
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Eager(PartitionSequences):
    """Always allows the full number of batches in flight."""

    @property
    def most_in_flight(self) -> int:
        return MAX_IN_FLIGHT_IDEMPOTENT


class EagerManager(TransactionManager):
    """Uses ``Eager``."""

    partition_sequences = Eager


MUTANT = Mutant(
    "sends the second batch of a chain before the first is acknowledged, as Java does",
    Components(transaction_manager=EagerManager),
    caught_by=("delivery/the_first_of_a_chain_goes_alone",),
    breaks=("PRD-IDM-07",),
)
