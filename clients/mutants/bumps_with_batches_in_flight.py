"""The epoch is raised while batches are still on their way: they are sent again under new numbers."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Impatient(TransactionManager):
    """Does not wait for what is out."""

    def _any_in_doubt(self) -> bool:
        return False


MUTANT = Mutant(
    "raises the epoch while batches are on their way, which are sent again under new numbers",
    Components(transaction_manager=Impatient),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-IDM-10",),
)
