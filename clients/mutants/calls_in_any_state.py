"""A call of transactions is made in any state."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.states import TRANSACTION, TransactionEvent
from clients.seeding.mutant import Mutant


class Permissive(Transaction):
    """Leaves out the moves that its table lacks, and raises nothing."""

    def call(self, event: TransactionEvent, method: str, now_ms: int) -> None:
        if TRANSACTION.allows(self.state, event):
            super().call(event, method, now_ms)


class Obedient(TransactionalManager):
    """Does what it is told."""

    transaction_state = Permissive


MUTANT = Mutant(
    "accepts calls that the state of the transaction forbids",
    Components(transactional_manager=Obedient),
    caught_by=("state_transitions/a_call_in_a_wrong_state_changes_nothing",),
    breaks=("PRD-TXN-02",),
)
