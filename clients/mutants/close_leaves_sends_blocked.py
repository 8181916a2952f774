"""close() does not end the sends that wait for metadata or memory."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.blocked_sends import BlockedSends
from clients.reference.producer.producer import Components


class Abandoned(BlockedSends):
    """Goes on waiting."""

    def give_up(self, error: Callable[[], SendError], now_ms: int) -> None:
        """Nobody gives up."""


COMPONENTS = Components(blocked_sends=Abandoned)
