"""The parts of a split batch get the next sequence numbers instead of those of the whole batch."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.records import increment_sequence


class Renumbering(TransactionManager):
    """Assigns new sequence numbers to the parts, which leaves a gap."""

    def was_split(self, batch: ProducerBatch, parts: list[ProducerBatch], now_ms: int) -> None:
        entry = self._entry(batch.partition)
        for part in parts:
            part.assign_sequence(batch.producer_id, entry.next_sequence)
            entry.next_sequence = increment_sequence(entry.next_sequence, part.record_count)
        super().was_split(batch, parts, now_ms)


MUTANT = Mutant(
    "gives the parts of a split batch the next sequence numbers instead of its own",
    Components(transaction_manager=Renumbering),
    caught_by=("state_transitions/EachRecordIsStoredOnceAndInOrder",),
    breaks=("PRD-SPL-04",),
)
