"""The client raises its epoch after every acknowledgement, although nothing failed."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Restless(TransactionManager):
    """Requests a restart after each completed batch."""

    def completed(self, batch: ProducerBatch, now_ms: int) -> None:
        super().completed(batch, now_ms)
        self.request_restart(batch.partition, now_ms)


MUTANT = Mutant(
    "raises its epoch after every acknowledgement",
    Components(transaction_manager=Restless),
    caught_by=("producer-identity",),
    breaks=("PRD-IDM-01",),
)
