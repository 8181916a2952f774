"""The client raises the epoch while batches are in flight, and sends these again under new sequence numbers."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Impatient(TransactionManager):
    """Does not wait for batches in flight."""

    def _any_in_doubt(self) -> bool:
        return False


MUTANT = Mutant(
    "raises the epoch while batches are in flight, and sends them again under new sequence numbers",
    Components(transaction_manager=Impatient),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-IDM-10",),
)
