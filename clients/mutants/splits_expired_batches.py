"""A batch whose time is over is split when the broker finds it too large, and its parts are sent."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.reference.states import BatchState
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Tireless(Sender):
    """Asks neither for the time nor for what the application was told."""

    def _can_split(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> bool:
        return error.name == "MESSAGE_TOO_LARGE" and batch.record_count > 1

    def _split_batch(self, batch: ProducerBatch, now_ms: int) -> None:
        batch.state = BatchState.IN_FLIGHT
        self._in_flight[batch] = None
        super()._split_batch(batch, now_ms)


MUTANT = Mutant(
    "splits a batch whose time is over",
    Components(sender=Tireless),
    caught_by=("timeout_expiry/an_expired_batch_is_not_split",),
    breaks=("PRD-SPL-03",),
)
