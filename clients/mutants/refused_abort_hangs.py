"""An abort that the coordinator refuses never ends."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import EndTxnHandler, TxnRequestHandler
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Hopeful(TransactionalManager):
    """Repeats an abort that cannot succeed."""

    def _must_be_aborted(self, handler: TxnRequestHandler, error: KafkaError, now_ms: int) -> None:
        if isinstance(handler, EndTxnHandler) and not handler.committed:
            return
        super()._must_be_aborted(handler, error, now_ms)


MUTANT = Mutant(
    "waits for ever for an abort that the coordinator has refused",
    Components(transactional_manager=Hopeful),
    caught_by=("state_transitions/an_abort_that_is_refused_is_fatal",),
    breaks=("PRD-TXN-20",),
)
