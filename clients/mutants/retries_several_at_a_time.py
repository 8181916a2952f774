"""While a batch waits for its retry, other batches of its partition are sent and may overtake it."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Impatient(TransactionManager):
    """Picks the first batch of the queue at any time."""

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        return queue[0] if self.producer_id.is_valid else None


MUTANT = Mutant(
    "sends newer batches of a partition while an older one is being retried",
    Components(transaction_manager=Impatient),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder", "sequence"),
    breaks=("PRD-IDM-07",),
)
