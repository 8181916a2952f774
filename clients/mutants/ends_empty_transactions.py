"""EndTxn is sent for a transaction that the coordinator does not know."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.states import TransactionEvent
from clients.seeding.mutant import Mutant


class Eager(Transaction):
    """Every transaction has started, once it has begun."""

    def call(self, event: TransactionEvent, method: str, now_ms: int) -> None:
        super().call(event, method, now_ms)
        self.is_started = event is not TransactionEvent.INITIALIZE


class Thorough(TransactionalManager):
    """Ends everything."""

    transaction_state = Eager


MUTANT = Mutant(
    "sends EndTxn for a transaction to which nothing was added",
    Components(transactional_manager=Thorough),
    caught_by=("state_transitions/an_empty_transaction_is_not_ended",),
    breaks=("PRD-TXN-06",),
)
