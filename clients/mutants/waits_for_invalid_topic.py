"""A topic that can never be had, by its name or by authorization, is waited for until max.block.ms."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components


class Hopeful(BlockedSends):
    """Takes no refusal for an answer."""

    def _settle(self, blocked: BlockedSend, memory_for: Callable[[int], int], now_ms: int) -> bool:
        errors, self._metadata.topic_errors = self._metadata.topic_errors, {}
        settled = super()._settle(blocked, memory_for, now_ms)
        self._metadata.topic_errors = errors
        return settled


COMPONENTS = Components(blocked_sends=Hopeful)
