"""A batch that expired in flight and was reported is sent again when its request fails."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.reference.states import BatchState
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Restless(Sender):
    """Retries every retriable error, even if the batch has already ended."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        return error.retriable

    def _reenqueue_batch(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> None:
        if batch.is_done:
            batch.state, batch.expires_ms = BatchState.IN_FLIGHT, 2**62
            self._in_flight[batch] = None
        super()._reenqueue_batch(batch, error, now_ms)


MUTANT = Mutant(
    "sends a batch again after it expired and was reported",
    Components(sender=Restless),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder", "bookkeeping"),
    breaks=("PRD-EXP-03",),
)
