"""The callbacks of a batch run in reverse order."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class LastFirst(ProducerBatch):
    """Runs its newest callback first."""

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        self.callbacks.reverse()
        super().publish(misbehaved)


MUTANT = Mutant(
    "runs the callbacks of a batch in reverse order",
    Components(batch=LastFirst),
    caught_by=(
        "state_transitions/a_batch_takes_one_final_state",
        "delivery/what_was_sent_is_stored_and_told",
    ),
    breaks=("PRD-SND-13",),
)
