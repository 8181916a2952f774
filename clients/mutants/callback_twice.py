"""The callbacks of a batch run again each time the batch is published."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Repeating(ProducerBatch):
    """Keeps its callbacks after they have run."""

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        kept = list(self.callbacks)
        super().publish(misbehaved)
        self.callbacks = kept


MUTANT = Mutant(
    "runs the callbacks of a batch each time it is published",
    Components(batch=Repeating),
    caught_by=("state_transitions/a_batch_takes_one_final_state",),
    breaks=("PRD-FIN-01", "PRD-SND-13"),
)
