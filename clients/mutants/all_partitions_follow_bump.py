"""When one partition needs a higher epoch, all others restart at once, even those with batches in flight."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class Sweeping(TransactionManager):
    """Restarts every partition when the epoch is raised."""

    def _bump_epoch(self, now_ms: int) -> None:
        for partition in self._sequences:
            if partition not in self._to_restart:
                self.request_restart(partition, now_ms)
        super()._bump_epoch(now_ms)


MUTANT = Mutant(
    "restarts the sequence numbers of every partition when one of them needs a higher epoch",
    Components(transaction_manager=Sweeping),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-IDM-10",),
)
