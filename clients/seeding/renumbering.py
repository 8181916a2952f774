"""A retry that gets new sequence numbers: the defect of a producer without transactions, and of one with them."""

from __future__ import annotations

from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from harness.wire.error_table import KafkaError
from harness.wire.records import increment_sequence


class Renumbering(TransactionManager):
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
