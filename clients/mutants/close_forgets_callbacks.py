"""close() returns at its time limit and never reports the outcome of the unfinished records."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Silent(Sender):
    """Aborts batches without reporting them."""

    def abort_all(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "never reports the records that close() aborts",
    Components(sender=Silent),
    caught_by=("timeout_expiry/close_keeps_its_limit",),
    breaks=("PRD-CLS-04",),
)
