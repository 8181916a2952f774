"""If a Metadata response contains nothing new, the client asks again at once, without any backoff."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Storming(Metadata):
    """Sets no backoff after a response."""

    def _space_questions(self, changed: bool, now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "asks for metadata again at once after a response that contained nothing new",
    Components(metadata=Storming),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "timeout_expiry/answers_that_tell_nothing_new_are_spaced",
    ),
    breaks=("MET-03",),
)
