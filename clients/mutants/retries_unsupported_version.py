"""A batch that no common version can carry is tried again until its time is over."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from harness.wire.error_table import KafkaError


class Stubborn(Sender):
    """Hopes for another broker."""

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        if error.name == "UNSUPPORTED_VERSION":
            return not batch.is_done and not batch.has_expired(now_ms)
        return super()._can_retry(batch, error, answer, now_ms)


COMPONENTS = Components(sender=Stubborn)
