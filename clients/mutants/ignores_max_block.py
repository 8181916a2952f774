"""A send that finds no metadata or no memory waits for as long as it takes."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSends
from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Outgoing


class Unlimited(BlockedSends):
    """Gives every record all the time of the world."""

    def add(self, outgoing: Outgoing, memory_bytes: int, now_ms: int) -> None:
        super().add(outgoing, memory_bytes, now_ms)
        self._blocked[-1].expires_ms = 2**62


COMPONENTS = Components(blocked_sends=Unlimited)
