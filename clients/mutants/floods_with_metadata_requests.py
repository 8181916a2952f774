"""The client requests metadata again two milliseconds after each response, whatever the response was."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Insatiable(Metadata):
    """Ignores the age of the metadata and the backoff."""

    again_ms = 0

    def update(self, question: MetadataRequest, body: Message, now_ms: int) -> None:
        super().update(question, body, now_ms)
        self.again_ms = now_ms + 2

    def next_update_ms(self) -> int:
        return self.again_ms


MUTANT = Mutant(
    "requests metadata again as soon as it gets a response",
    Components(metadata=Insatiable),
    caught_by=("metadata-storm",),
    breaks=("MET-03",),
)
