"""The callbacks of a batch run in reverse."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch


class LastFirst(ProducerBatch):
    """Begins with the newest record."""

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        self.callbacks.reverse()
        super().publish(misbehaved)


COMPONENTS = Components(batch=LastFirst)
