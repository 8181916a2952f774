"""Refused credentials do not end the sends that wait for metadata: they wait until max.block.ms."""

from __future__ import annotations

from clients.reference.errors import SendError
from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components


class Unshaken(Metadata):
    """Knows nothing fatal."""

    def fail(self, error: SendError) -> None:
        """It may get better."""


COMPONENTS = Components(metadata=Unshaken)
