"""Every record of a batch is told the offset of the first."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch


class Unmoved(ProducerBatch):
    """Counts no offsets."""

    def close(self, now_ms: int, reason: str = "drained") -> None:
        super().close(now_ms, reason)
        self.callbacks = [(0, at_ms, each) for _, at_ms, each in self.callbacks]


COMPONENTS = Components(batch=Unmoved)
