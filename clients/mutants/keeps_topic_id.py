"""The client keeps the first id of a topic, even after the topic was recreated."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class FirstImpression(Metadata):
    """Remembers the first id of each topic."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._first: dict[str, UUID] = {}

    def topic_id(self, topic: str) -> UUID | None:
        known = super().topic_id(topic)
        return None if known is None else self._first.setdefault(topic, known)


MUTANT = Mutant(
    "keeps the first id of a topic after the topic was recreated",
    Components(metadata=FirstImpression),
    caught_by=("delivery/a_recreated_topic_is_written_under_its_new_id",),
    breaks=("PRD-SND-15",),
)
