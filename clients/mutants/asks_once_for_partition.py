"""For a record whose partition does not exist yet, the client requests metadata once and then only waits."""

from __future__ import annotations

from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class AskingOnce(BlockedSends):
    """Does not repeat the request for metadata."""

    def _ask_again(self, blocked: BlockedSend, now_ms: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "requests metadata only once for a partition that does not exist yet",
    Components(blocked_sends=AskingOnce),
    caught_by=("timeout_expiry/a_partition_that_appears_is_found",),
    breaks=("MET-12",),
)
