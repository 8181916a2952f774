"""A batch that the broker refuses as too large is split and sent even if it has already expired."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.reference.states import BatchState
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Tireless(Sender):
    """Splits a batch even if it has expired and the application has its result."""

    def _can_split(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> bool:
        return error.name == "MESSAGE_TOO_LARGE" and batch.record_count > 1

    def _split_batch(self, batch: ProducerBatch, now_ms: int) -> None:
        batch.state = BatchState.IN_FLIGHT
        self._in_flight[batch] = None
        super()._split_batch(batch, now_ms)


MUTANT = Mutant(
    "splits a batch that has expired",
    Components(sender=Tireless),
    caught_by=("timeout_expiry/an_expired_batch_is_not_split",),
    breaks=("PRD-SPL-03",),
)
