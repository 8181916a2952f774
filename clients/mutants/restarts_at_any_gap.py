"""A batch that is refused as out of order restarts its partition even if an earlier batch is still in flight."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Hasty(TransactionManager):
    """Requests a restart after every OUT_OF_ORDER_SEQUENCE_NUMBER."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        if error.name == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            self.request_restart(batch.partition, now_ms)
            return True
        return super().can_retry(batch, error, log_start_offset, now_ms)


MUTANT = Mutant(
    "restarts a partition whenever a batch is refused as out of order",
    Components(transaction_manager=Hasty),
    caught_by=("delivery/a_batch_refused_behind_others_goes_again_as_it_was",),
    breaks=("PRD-IDM-08",),
)
