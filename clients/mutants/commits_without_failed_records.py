"""A transaction is committed although one of its records has failed."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Forgiving(TransactionalManager):
    """Overlooks failed batches."""

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        self._entry(batch.partition).forget(batch, now_ms)


MUTANT = Mutant(
    "commits a transaction although one of its records has failed",
    Components(transactional_manager=Forgiving),
    caught_by=("delivery/a_transaction_without_one_of_its_records_is_not_committed", "torn-transaction"),
    breaks=("PRD-TXN-07",),
    scenarios=("transactions/expired-batch",),
)
