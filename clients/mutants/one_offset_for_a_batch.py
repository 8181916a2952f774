"""Every record of a batch is reported with the offset of the first record."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant


class Unmoved(ProducerBatch):
    """Gives every record the index 0."""

    def close(self, now_ms: int, reason: str = "drained") -> None:
        super().close(now_ms, reason)
        self.callbacks = [(0, at_ms, each) for _, at_ms, each in self.callbacks]


MUTANT = Mutant(
    "reports the offset of the first record for every record of a batch",
    Components(batch=Unmoved),
    caught_by=(
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "delivery/what_was_sent_is_stored_and_told",
    ),
    breaks=("PRD-SND-01",),
)
