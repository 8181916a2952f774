"""A transaction is ended while some of its batches have no result."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import TxnRequestHandler
from clients.seeding.mutant import Mutant


class Impatient(TransactionalManager):
    """Sends EndTxn at once."""

    def next_request(self, now_ms: int, *, has_incomplete: bool) -> TxnRequestHandler | None:
        return super().next_request(now_ms, has_incomplete=False)


MUTANT = Mutant(
    "sends EndTxn before every batch of the transaction has a result",
    Components(transactional_manager=Impatient),
    caught_by=(
        "state_transitions/a_transaction_ends_after_its_records",
        "end-overtakes-records",
        "state_transitions/a_commit_does_not_linger",
        "state_transitions/its_moves_are_those_of_the_oracle",
    ),
    breaks=("PRD-TXN-05",),
    scenarios=("transactions/disconnect",),
)
