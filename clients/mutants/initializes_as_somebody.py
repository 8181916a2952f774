"""init_transactions() names a producer id and an epoch although the producer has none."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerId
from clients.reference.producer.transactions import txn_requests
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.txn_request_handlers import InitProducerIdHandler
from clients.reference.states import TransactionEvent
from clients.seeding.mutant import Mutant

SOMEBODY = ProducerId(12_345, 0)


class Impostor(InitProducerIdHandler):
    """Asks for the next epoch of some producer. A coordinator accepts it as long as it knows no producer."""

    def build(self, manager: TransactionalManager) -> txn_requests.Build:
        return txn_requests.init_transactions_request(manager.transactional_id, self._timeout_ms, SOMEBODY)


class Manager(TransactionalManager):
    """Initializes with ``Impostor``."""

    def _begin_initializing(self, call: TransactionalRequestResult, now_ms: int) -> None:
        self.transaction.call(TransactionEvent.INITIALIZE, call.operation, now_ms)
        handler = Impostor(self.transactional_id, self._config.transaction_timeout_ms, call)
        handler.lowest = txn_requests.INIT_PRODUCER_ID_BUMP_LOWEST
        self.requests.add(handler)


MUTANT = Mutant(
    "initializes its transactions with a producer id that it was never given",
    Components(transactional_manager=Manager),
    caught_by=("never-commits-again",),
    breaks=("E2E-LIV-01",),
    scenarios=("transactions/init-answer-lost",),
)
