"""An invalid state of the transaction, and a missing permission, are errors that an abort repairs."""

from __future__ import annotations

from clients.reference.errors import FatalTransactionError
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.states import TransactionEvent
from clients.seeding.mutant import Mutant


class Optimistic(TransactionalManager):
    """Believes in another try."""

    def give_up(self, error: FatalTransactionError, now_ms: int) -> None:
        if error.name in ("INVALID_TXN_STATE", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            self._happened(TransactionEvent.ABORTABLE, now_ms, error)
        else:
            super().give_up(error, now_ms)


MUTANT = Mutant(
    "aborts and goes on after errors that no abort repairs",
    Components(transactional_manager=Optimistic),
    caught_by=("state_transitions/some_errors_leave_only_close",),
    breaks=("PRD-TXN-09",),
)
