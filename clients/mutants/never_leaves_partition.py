"""Records without a key stay in the partition that was chosen first."""

from __future__ import annotations

from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components


class Settled(Partitioner):
    """Never has enough."""

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        """Nothing is counted."""


COMPONENTS = Components(partitioner=Settled)
