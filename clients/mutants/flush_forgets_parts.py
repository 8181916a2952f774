"""flush() takes a batch that was split for finished, and returns before its parts are (KAFKA-19479)."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch


class Childless(ProducerBatch):
    """Is published once it was split."""

    def was_split(self, parts: list[ProducerBatch], now_ms: int) -> None:
        super().was_split(parts, now_ms)
        self.parts, self._is_published = [], True


COMPONENTS = Components(batch=Childless)
