"""A batch that is too large for the broker fails whole, its small records too."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from harness.wire.error_table import KafkaError


class Unsplitting(Sender):
    """Knows no smaller batches."""

    def _can_split(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> bool:
        return False


COMPONENTS = Components(sender=Unsplitting)
