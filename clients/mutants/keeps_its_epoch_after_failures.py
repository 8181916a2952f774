"""After a failed transaction the next one begins in the same epoch."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant


class Unchanged(TransactionalManager):
    """Never asks for another epoch."""

    def _needs_bump(self) -> None:
        pass


MUTANT = Mutant(
    "begins the next transaction in the epoch of a failed one",
    Components(transactional_manager=Unchanged),
    caught_by=("delivery/sequences_start_again_in_the_next_epoch",),
    breaks=("PRD-TXN-16",),
)
