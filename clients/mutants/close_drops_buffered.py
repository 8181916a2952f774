"""close() does not send buffered records, and they never have a result."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Departing(Sender):
    """Counts only requests in flight as unfinished."""

    def has_unfinished(self) -> bool:
        return bool(self._in_flight)


MUTANT = Mutant(
    "drops buffered records on close()",
    Components(sender=Departing),
    caught_by=("delivery/a_closed_producer_stays_closed", "timeout_expiry/close_without_limit_finishes_all"),
    breaks=("PRD-CLS-03",),
)
