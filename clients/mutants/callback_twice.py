"""The callbacks of a batch run once more whenever it is published again."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch


class Repeating(ProducerBatch):
    """Keeps its callbacks."""

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        kept = list(self.callbacks)
        super().publish(misbehaved)
        self.callbacks = kept


COMPONENTS = Components(batch=Repeating)
