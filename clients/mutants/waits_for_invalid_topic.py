"""A send waits until max.block.ms for a topic whose name is invalid or whose access is not authorized."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Hopeful(BlockedSends):
    """Hides topic errors from blocked sends."""

    def _settle(self, blocked: BlockedSend, memory_for: Callable[[int], int], now_ms: int) -> bool:
        errors, self._metadata.topic_errors = self._metadata.topic_errors, {}
        settled = super()._settle(blocked, memory_for, now_ms)
        self._metadata.topic_errors = errors
        return settled


MUTANT = Mutant(
    "waits max.block.ms for a topic whose name is invalid or that it may not access",
    Components(blocked_sends=Hopeful),
    caught_by=("timeout_expiry/a_refused_topic_fails_at_once",),
    breaks=("MET-13",),
)
