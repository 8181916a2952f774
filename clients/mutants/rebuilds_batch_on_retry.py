"""A batch that is sent again is built anew: its records have the time of the retry."""

from __future__ import annotations

from dataclasses import replace

from clients.mutants.rebuilt import rebuilt
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch


class Rebuilding(ProducerBatch):
    """Stamps its records once more for each attempt."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(
            self._payload,
            lambda records: [replace(record, timestamp_ms=record.timestamp_ms + 1) for record in records],
        )


COMPONENTS = Components(batch=Rebuilding)
