"""close() returns by its limit, and tells nobody what became of the rest."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender


class Silent(Sender):
    """Gives up without a word."""

    def abort_all(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Nobody is told."""


COMPONENTS = Components(sender=Silent)
