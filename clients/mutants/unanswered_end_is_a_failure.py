"""If the answer to EndTxn is lost, the transaction is taken for failed."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import EndTxnHandler, TxnRequestHandler
from clients.seeding.mutant import Mutant
from harness.wire.error_table import BY_NAME


class Pessimistic(TransactionalManager):
    """Does not repeat EndTxn."""

    def answered(self, handler: TxnRequestHandler, response: ClientResponse, now_ms: int) -> None:
        if isinstance(handler, EndTxnHandler) and response.disconnected:
            self.requests.in_flight = None
            self.fail_fatally(BY_NAME["NETWORK_EXCEPTION"], now_ms)
        else:
            super().answered(handler, response, now_ms)


MUTANT = Mutant(
    "takes a transaction for failed if the answer to EndTxn is lost",
    Components(transactional_manager=Pessimistic),
    caught_by=("delivery/a_repeated_end_is_one_end",),
    breaks=("PRD-TXN-14",),
)
