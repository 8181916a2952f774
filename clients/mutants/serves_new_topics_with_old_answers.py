"""An answer to a question from before a topic was wanted counts as the answer for that topic too."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.metadata.metadata import Metadata, MetadataQuestion
from clients.reference.producer.producer import Components


class HastyMetadata(Metadata):
    """Does not keep questions apart."""

    def _answered(self, question: MetadataQuestion, now_ms: int) -> None:
        super()._answered(replace(question, version=self._request_version), now_ms)


COMPONENTS = Components(metadata=HastyMetadata)
