"""A batch that is refused as out of order fails, and the sequence numbers of its partition are not repaired."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Unbending(TransactionManager):
    """Does not retry after OUT_OF_ORDER_SEQUENCE_NUMBER."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        if error.name == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            return False
        return super().can_retry(batch, error, log_start_offset, now_ms)


MUTANT = Mutant(
    "fails a batch that is refused as out of order",
    Components(transaction_manager=Unbending),
    caught_by=("sequence-not-recovered", "delivery/a_broken_chain_begins_anew"),
    breaks=("PRD-IDM-09",),
    scenarios=("generated/sequences",),
)
