"""A topic that was used once is asked for as long as the producer lives."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Hoarding(Metadata):
    """Wants every topic for ever."""

    def _forget_idle_topics(self, now_ms: int) -> None:
        """None is idle."""


MUTANT = Mutant(
    "asks for every topic that it ever used",
    Components(metadata=Hoarding),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "timeout_expiry/a_topic_that_nobody_uses_is_forgotten",
    ),
    breaks=("MET-10",),
)
