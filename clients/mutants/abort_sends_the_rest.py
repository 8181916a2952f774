"""An abort sends the records that were not sent yet."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Dutiful(Sender):
    """Sends everything that it was given."""

    def abort_undrained(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        pass


MUTANT = Mutant(
    "does not drop records that were not sent when a transaction is aborted",
    Components(sender=Dutiful),
    caught_by=("delivery/an_abort_drops_what_was_not_sent",),
    breaks=("PRD-TXN-18",),
)
