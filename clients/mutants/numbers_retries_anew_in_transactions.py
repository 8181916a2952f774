"""Within a transaction, a retry gets new sequence numbers, so the broker stores the batch again."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError
from harness.wire.records import increment_sequence


class Renumbering(TransactionalManager):
    """Assigns the next sequence numbers to a batch that may be retried."""

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        may = super().can_retry(batch, error, log_start_offset, now_ms)
        if may:
            entry = self._entry(batch.partition)
            entry.forget(batch, now_ms)
            entry.in_flight.append(batch)
            batch.restart_sequence(entry.producer_id, entry.next_sequence)
            entry.next_sequence = increment_sequence(entry.next_sequence, batch.record_count)
        return may


MUTANT = Mutant(
    "gives a batch of a transaction new sequence numbers whenever it retries it",
    Components(transactional_manager=Renumbering),
    caught_by=("visible-twice",),
    breaks=("PRD-TXN-16",),
    scenarios=("transactions/produce-answer-lost",),
)
