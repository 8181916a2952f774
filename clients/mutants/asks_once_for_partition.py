"""A record for a partition that does not exist yet makes the client ask once, and then wait."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class AskingOnce(BlockedSends):
    """Is not told twice."""

    def _ask_again(self, blocked: BlockedSend, now_ms: int) -> None:
        """The first answer was one."""


MUTANT = Mutant(
    "asks once for a partition that does not exist yet",
    Components(blocked_sends=AskingOnce),
    caught_by=("timeout_expiry/a_partition_that_appears_is_found",),
    breaks=("MET-12",),
)
