"""A topic that was used once is asked for as long as the producer lives."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components


class Hoarding(Metadata):
    """Wants every topic for ever."""

    def _forget_idle_topics(self, now_ms: int) -> None:
        """None is idle."""


COMPONENTS = Components(metadata=Hoarding)
