"""While a batch waits to be sent again, others of its partition go: a refused one may be overtaken."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Impatient(TransactionManager):
    """Lets every batch go at any time."""

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        return queue[0] if self.producer_id.is_valid else None


MUTANT = Mutant(
    "lets younger batches go while one goes again",
    Components(transaction_manager=Impatient),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder", "sequence"),
    breaks=("PRD-IDM-07",),
)
