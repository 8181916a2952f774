"""A defect of the client is overlooked, and the transaction goes on."""

from __future__ import annotations

from clients.reference.errors import TransactionError
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.states import TRANSACTION, TransactionEvent
from clients.seeding.mutant import Mutant


class Careless(Transaction):
    """Leaves out its own moves that the table lacks."""

    def happened(self, event: TransactionEvent, now_ms: int, error: TransactionError | None = None) -> None:
        if TRANSACTION.allows(self.state, event):
            super().happened(event, now_ms, error)


class Trusting(TransactionalManager):
    """Never doubts itself."""

    transaction_state = Careless


MUTANT = Mutant(
    "goes on after a move that its own table lacks",
    Components(transactional_manager=Trusting),
    caught_by=("state_transitions/an_illegal_move_of_the_client_is_fatal",),
    breaks=("PRD-TXN-03",),
)
