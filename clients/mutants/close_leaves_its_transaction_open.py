"""close() leaves an open transaction to the coordinator's timeout."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant


class Finished(Transaction):
    """Is over, whatever its state is."""

    @property
    def is_ongoing(self) -> bool:
        return False


class Abrupt(TransactionalManager):
    """Closes without an end."""

    transaction_state = Finished


MUTANT = Mutant(
    "leaves its transaction open when it is closed",
    Components(transactional_manager=Abrupt),
    caught_by=("delivery/close_aborts_what_is_open",),
    breaks=("PRD-CLS-06",),
)
