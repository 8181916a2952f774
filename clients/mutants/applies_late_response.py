"""An answer that comes after a batch has failed makes it a success: the application was told otherwise."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import BatchResult, ProducerBatch


class Reconsidering(ProducerBatch):
    """Takes the last word for the last state."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        super().succeed(base_offset, log_append_time_ms, now_ms)
        self.result = BatchResult(base_offset, log_append_time_ms)
        return True


COMPONENTS = Components(batch=Reconsidering)
