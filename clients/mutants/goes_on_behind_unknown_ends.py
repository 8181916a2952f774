"""New batches follow one whose outcome is unknown. If it is not stored, its sequence numbers are missing."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Optimist(TransactionManager):
    """Treats every unknown outcome as a success."""

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        if is_definite:
            super().failed(batch, error, is_definite=is_definite, now_ms=now_ms)
        else:
            self._entry(batch.partition).forget(batch, now_ms)


MUTANT = Mutant(
    "sends new batches after one whose outcome is unknown",
    Components(transaction_manager=Optimist),
    caught_by=(
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "timeout_expiry/unknown_sequences_are_settled_first",
    ),
    breaks=("PRD-EXP-06",),
)
