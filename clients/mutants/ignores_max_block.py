"""A send that finds no metadata or no memory waits for as long as it takes."""

from __future__ import annotations

from clients.reference.blocked_sends import BlockedSends
from clients.reference.delivery import Outgoing
from clients.reference.producer import Components


class Unlimited(BlockedSends):
    """Gives every record all the time of the world."""

    def add(self, outgoing: Outgoing, memory_bytes: int, now_ms: int) -> None:
        super().add(outgoing, memory_bytes, now_ms)
        self._blocked[-1].expires_ms = 2**62


COMPONENTS = Components(blocked_sends=Unlimited)
