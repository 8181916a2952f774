"""A Metadata answer without brokers is taken for the truth: everything that was known is forgotten."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.metadata.metadata import Metadata, MetadataQuestion
from clients.reference.producer.producer import Components


class TrustingMetadata(Metadata):
    """Has no idea that a broker may know nothing yet."""

    def update(self, question: MetadataQuestion, body: Message, now_ms: int) -> None:
        if not body.brokers:
            self.topics = {}
        super().update(question, body, now_ms)


COMPONENTS = Components(metadata=TrustingMetadata)
