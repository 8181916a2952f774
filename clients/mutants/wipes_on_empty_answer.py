"""A Metadata response without brokers is applied, and the client forgets every topic that it knew."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class TrustingMetadata(Metadata):
    """Forgets all topics after a response without brokers."""

    def update(self, question: MetadataRequest, body: Message, now_ms: int) -> None:
        if not body.brokers:
            self.topics = {}
        super().update(question, body, now_ms)


MUTANT = Mutant(
    "forgets all topics after a Metadata response without brokers",
    Components(metadata=TrustingMetadata),
    caught_by=("delivery/an_answer_without_brokers_forgets_nothing",),
    breaks=("MET-06",),
)
