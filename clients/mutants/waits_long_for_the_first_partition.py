"""The first partition of a transaction waits for the whole backoff."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import TxnRequestHandler
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Patient(TransactionalManager):
    """Waits retry.backoff.ms before every repetition."""

    def _retry(self, handler: TxnRequestHandler, now_ms: int, error: KafkaError | None = None) -> None:
        super()._retry(handler, now_ms)


MUTANT = Mutant(
    "waits for retry.backoff.ms while the previous transaction is being completed",
    Components(transactional_manager=Patient),
    caught_by=("delivery/the_first_partition_waits_only_briefly",),
    breaks=("PRD-TXN-11",),
)
