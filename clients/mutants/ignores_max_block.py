"""A send waits for metadata or memory without a limit, whatever max.block.ms is."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSends
from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Outgoing
from clients.seeding.mutant import Mutant


class Unlimited(BlockedSends):
    """Gives every blocked send an unlimited deadline."""

    def add(self, outgoing: Outgoing, memory_bytes: int, now_ms: int) -> None:
        super().add(outgoing, memory_bytes, now_ms)
        self._blocked[-1].expires_ms = 2**62


MUTANT = Mutant(
    "lets a send wait for metadata or memory without a limit",
    Components(blocked_sends=Unlimited),
    caught_by=("timeout_expiry/no_send_waits_longer_for_metadata",),
    breaks=("MET-11",),
)
