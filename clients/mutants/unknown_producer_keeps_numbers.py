"""If the broker does not know the producer id, a batch keeps its sequence numbers, wherever the log starts."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Unmoved(TransactionManager):
    """Hides the log start offset after UNKNOWN_PRODUCER_ID."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        if error.name == "UNKNOWN_PRODUCER_ID":
            log_start_offset = -1
        return super().can_retry(batch, error, log_start_offset, now_ms)


MUTANT = Mutant(
    "never restarts the sequence numbers of a producer that the broker does not know",
    Components(transaction_manager=Unmoved),
    caught_by=("delivery/an_unknown_producer_goes_again",),
    breaks=("PRD-IDM-12",),
)
