"""Answers that tell nothing new are asked for again at once: nothing spaces the questions."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components


class Storming(Metadata):
    """Waits for no backoff after an answer."""

    def _space_questions(self, changed: bool, now_ms: int) -> None:
        """Nothing is spaced."""


COMPONENTS = Components(metadata=Storming)
