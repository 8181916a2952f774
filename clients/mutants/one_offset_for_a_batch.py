"""Every record of a batch is told the offset of the first."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Unmoved(ProducerBatch):
    """Counts no offsets."""

    def close(self, now_ms: int, reason: str = "drained") -> None:
        super().close(now_ms, reason)
        self.callbacks = [(0, at_ms, each) for _, at_ms, each in self.callbacks]


MUTANT = Mutant(
    "tells every record of a batch the offset of the first",
    Components(batch=Unmoved),
    caught_by=(
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "delivery/what_was_sent_is_stored_and_told",
    ),
    breaks=("PRD-SND-01",),
)
