"""A batch that is refused as out of order restarts its partition, also where an earlier one is still out."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Hasty(TransactionManager):
    """Takes every gap for one that stays."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        if error.name == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            self.request_restart(batch.partition, now_ms)
            return True
        return super().can_retry(batch, error, log_start_offset, now_ms)


MUTANT = Mutant(
    "restarts a partition at every refusal as out of order",
    Components(transaction_manager=Hasty),
    caught_by=("delivery/a_batch_refused_behind_others_goes_again_as_it_was",),
    breaks=("PRD-IDM-08",),
)
