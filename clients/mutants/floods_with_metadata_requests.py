"""Metadata is asked for again two milliseconds after each answer, whatever it was."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Insatiable(Metadata):
    """Knows neither age nor backoff."""

    again_ms = 0

    def update(self, question: MetadataRequest, body: Message, now_ms: int) -> None:
        super().update(question, body, now_ms)
        self.again_ms = now_ms + 2

    def next_update_ms(self) -> int:
        return self.again_ms


MUTANT = Mutant(
    "asks for metadata again as soon as it has some",
    Components(metadata=Insatiable),
    caught_by=("metadata-storm",),
    breaks=("MET-03",),
)
