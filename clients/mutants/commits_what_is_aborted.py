"""abort_transaction() commits."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.seeding.mutant import Mutant


class Eager(TransactionalManager):
    """Ends every transaction in the same way."""

    def _end(self, call: TransactionalRequestResult, *, committed: bool) -> None:
        super()._end(call, committed=True)


MUTANT = Mutant(
    "commits a transaction that the application aborts",
    Components(transactional_manager=Eager),
    caught_by=("abort-undone", "state_transitions/TransactionsAreVisibleAsAWhole"),
    breaks=("PRD-TXN-07",),
    scenarios=("transactions/calm",),
)
