"""A Metadata answer without brokers is taken for the truth: everything that was known is forgotten."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class TrustingMetadata(Metadata):
    """Has no idea that a broker may know nothing yet."""

    def update(self, question: MetadataRequest, body: Message, now_ms: int) -> None:
        if not body.brokers:
            self.topics = {}
        super().update(question, body, now_ms)


MUTANT = Mutant(
    "forgets everything at a Metadata answer without brokers",
    Components(metadata=TrustingMetadata),
    caught_by=("delivery/an_answer_without_brokers_forgets_nothing",),
    breaks=("MET-06",),
)
