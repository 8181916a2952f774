"""A topic that can never be had, by its name or by authorization, is waited for until max.block.ms."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Hopeful(BlockedSends):
    """Takes no refusal for an answer."""

    def _settle(self, blocked: BlockedSend, memory_for: Callable[[int], int], now_ms: int) -> bool:
        errors, self._metadata.topic_errors = self._metadata.topic_errors, {}
        settled = super()._settle(blocked, memory_for, now_ms)
        self._metadata.topic_errors = errors
        return settled


MUTANT = Mutant(
    "waits max.block.ms for topics that can never be had",
    Components(blocked_sends=Hopeful),
    caught_by=("timeout_expiry/a_refused_topic_fails_at_once",),
    breaks=("MET-13",),
)
