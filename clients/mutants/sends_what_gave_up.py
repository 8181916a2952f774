"""A send that timed out while it waited for metadata is still sent when the metadata arrives."""

from __future__ import annotations

from clients.reference.errors import SendError
from clients.reference.producer.blocked_sends import BlockedSend, BlockedSends
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Persistent(BlockedSends):
    """Reports the timeout and keeps waiting."""

    def _end(self, blocked: BlockedSend, failure: SendError, now_ms: int) -> None:
        super()._end(blocked, failure, now_ms)
        if not blocked.waiter and not blocked.grant and blocked.expires_ms <= now_ms:
            blocked.expires_ms = 2**62
            blocked.outgoing.callback = None
            self._blocked.append(blocked)


MUTANT = Mutant(
    "sends a record after its wait for metadata has timed out",
    Components(blocked_sends=Persistent),
    caught_by=("timeout_expiry/an_answer_after_max_block_harms_nobody",),
    breaks=("NET-TMO-06",),
)
