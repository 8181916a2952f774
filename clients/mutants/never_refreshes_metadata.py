"""Metadata that nothing proved wrong is kept for ever, whatever metadata.max.age.ms says."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata, MetadataQuestion
from clients.reference.producer.producer import Components


class Ageless(Metadata):
    """Never finds an answer too old."""

    def _answered(self, question: MetadataQuestion, now_ms: int) -> None:
        super()._answered(question, now_ms)
        self._expires_ms = 2**62


COMPONENTS = Components(metadata=Ageless)
