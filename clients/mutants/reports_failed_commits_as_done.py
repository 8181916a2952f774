"""commit_transaction() succeeds, whatever became of the records."""

from __future__ import annotations

from clients.reference.errors import TransactionError
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.seeding.mutant import Mutant


class Soothing(TransactionalRequestResult):
    """Knows no failure."""

    def fail(self, error: TransactionError) -> None:
        self.done()


class Manager(TransactionalManager):
    """Tells the application that every call is done."""

    request_result = Soothing


MUTANT = Mutant(
    "reports a commit as done although a record of the transaction has failed",
    Components(transactional_manager=Manager),
    caught_by=("commit-lost", "delivery/a_transaction_that_the_coordinator_ended_is_not_committed"),
    breaks=("PRD-TXN-05",),
    scenarios=("transactions/produce-refused",),
)
