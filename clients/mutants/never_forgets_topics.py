"""The client requests the metadata of every topic that it used once, as long as the producer lives."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Hoarding(Metadata):
    """Never drops an idle topic."""

    def _forget_idle_topics(self, now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "keeps requesting the metadata of every topic that it ever used",
    Components(metadata=Hoarding),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "timeout_expiry/a_topic_that_nobody_uses_is_forgotten",
    ),
    breaks=("MET-10",),
)
