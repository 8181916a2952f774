"""Every acknowledgement is followed by a new epoch, though nothing failed."""

from __future__ import annotations

from clients.reference.producer import Components
from clients.reference.producer_batch import ProducerBatch
from clients.reference.transaction_manager import TransactionManager


class Restless(TransactionManager):
    """Begins anew whenever it can."""

    def completed(self, batch: ProducerBatch, now_ms: int) -> None:
        super().completed(batch, now_ms)
        self.request_restart(batch.partition, now_ms)


COMPONENTS = Components(transaction_manager=Restless)
