"""After the last epoch, the epoch wraps to 0 under the same producer id instead of a new producer id."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerId
from clients.reference.producer.transaction_manager import LAST_EPOCH, TransactionManager
from clients.seeding.mutant import Mutant


class Endless(TransactionManager):
    """Restarts at epoch 0 under the same producer id."""

    def _bump_epoch(self, now_ms: int) -> None:
        if self.producer_id.epoch == LAST_EPOCH:
            self._assume(ProducerId(self.producer_id.id, 0), now_ms, bumped_locally=True)
        else:
            super()._bump_epoch(now_ms)


MUTANT = Mutant(
    "wraps the epoch to 0 instead of requesting a new producer id",
    Components(transaction_manager=Endless),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-IDM-11",),
)
