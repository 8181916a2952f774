"""close() returns by its limit, and tells nobody what became of the rest."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Silent(Sender):
    """Gives up without a word."""

    def abort_all(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Nobody is told."""


MUTANT = Mutant(
    "tells nobody of the records that close() gives up",
    Components(sender=Silent),
    caught_by=("timeout_expiry/close_keeps_its_limit",),
    breaks=("PRD-CLS-04",),
)
