"""INVALID_PRODUCER_EPOCH on Produce ends the producer, and not only its transaction."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Offended(TransactionalManager):
    """Takes an old epoch for the end."""

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        if error.name == "INVALID_PRODUCER_EPOCH":
            self.fail_fatally(error, now_ms)
        else:
            super().failed(batch, error, is_definite=is_definite, now_ms=now_ms)


MUTANT = Mutant(
    "gives up for good if a broker refuses a batch for its epoch",
    Components(transactional_manager=Offended),
    caught_by=("state_transitions/some_errors_can_be_aborted",),
    breaks=("PRD-TXN-08",),
)
