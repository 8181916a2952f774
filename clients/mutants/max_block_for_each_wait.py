"""The waits for metadata and for memory may each last the whole max.block.ms instead of sharing it."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Twofold(BlockedSends):
    """Restarts the deadline with each wait."""

    def _wait_for(self, what: str, blocked: BlockedSend, now_ms: int) -> None:
        super()._wait_for(what, blocked, now_ms)
        blocked.expires_ms = now_ms + self._config.max_block_ms


MUTANT = Mutant(
    "allows the wait for memory another whole max.block.ms",
    Components(blocked_sends=Twofold),
    caught_by=("timeout_expiry/one_limit_covers_both_waits",),
    breaks=("MET-14",),
)
