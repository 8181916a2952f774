"""A batch fails if the broker does not know its producer id."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Offended(TransactionManager):
    """Does not retry after UNKNOWN_PRODUCER_ID."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        may = super().can_retry(batch, error, log_start_offset, now_ms)
        return may and error.name != "UNKNOWN_PRODUCER_ID"


MUTANT = Mutant(
    "fails a batch if the broker does not know its producer id",
    Components(transaction_manager=Offended),
    caught_by=("delivery/an_unknown_producer_goes_again",),
    breaks=("PRD-IDM-12",),
)
