"""Answers that tell nothing new are asked for again at once: nothing spaces the questions."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Storming(Metadata):
    """Waits for no backoff after an answer."""

    def _space_questions(self, changed: bool, now_ms: int) -> None:
        """Nothing is spaced."""


MUTANT = Mutant(
    "asks again at once where an answer told nothing new",
    Components(metadata=Storming),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "timeout_expiry/answers_that_tell_nothing_new_are_spaced",
    ),
    breaks=("MET-03",),
)
