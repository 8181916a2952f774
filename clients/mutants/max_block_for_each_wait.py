"""Waiting for metadata does not shorten the wait for memory: both have the whole max.block.ms."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components


class Twofold(BlockedSends):
    """Begins to count again."""

    def _wait_for(self, what: str, blocked: BlockedSend, now_ms: int) -> None:
        super()._wait_for(what, blocked, now_ms)
        blocked.expires_ms = now_ms + self._config.max_block_ms


COMPONENTS = Components(blocked_sends=Twofold)
