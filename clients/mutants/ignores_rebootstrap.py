"""Nothing makes the client begin again from its bootstrap servers: neither time nor REBOOTSTRAP_REQUIRED."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components


class Settled(Metadata):
    """Stays with the brokers that it knows."""

    def rebootstrap_at_ms(self) -> int | None:
        return None

    def rebootstrap(self, now_ms: int, reason: str) -> None:
        """There is no way back."""


COMPONENTS = Components(metadata=Settled)
