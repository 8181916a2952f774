"""Every record of a batch is told the offset of the first."""

from __future__ import annotations

from clients.reference.producer import Components
from clients.reference.producer_batch import Callback, Headers, ProducerBatch


class Unmoved(ProducerBatch):
    """Counts no offsets."""

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
    ) -> int:
        index = super().append(timestamp_ms, key, value, headers, callback)
        self.callbacks = [(0, at_ms, each) for _, at_ms, each in self.callbacks]
        return index


COMPONENTS = Components(batch=Unmoved)
