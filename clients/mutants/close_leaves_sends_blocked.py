"""close() does not end the sends that wait for metadata or memory."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.errors import SendError
from clients.reference.producer.blocked_sends import BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Abandoned(BlockedSends):
    """Keeps sends blocked after close()."""

    def give_up(self, error: Callable[[], SendError], now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "leaves sends blocked after close()",
    Components(blocked_sends=Abandoned),
    caught_by=("timeout_expiry/close_releases_blocked_sends",),
    breaks=("PRD-CLS-07",),
)
