"""The callbacks of a batch run once more whenever it is published again."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Repeating(ProducerBatch):
    """Keeps its callbacks."""

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        kept = list(self.callbacks)
        super().publish(misbehaved)
        self.callbacks = kept


MUTANT = Mutant(
    "runs the callbacks of a batch as often as it is published",
    Components(batch=Repeating),
    caught_by=("state_transitions/a_batch_takes_one_final_state",),
    breaks=("PRD-FIN-01", "PRD-SND-13"),
)
