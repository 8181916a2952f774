"""After ten idle minutes, the sequence numbers of a partition start at 0 again under the same epoch."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant

IDLE_MS = 600_000


class Rested(PartitionSequences):
    """Resets the next sequence number after an idle period."""

    used_ms = 0

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        if now_ms - self.used_ms >= IDLE_MS and not self.in_flight:
            self.next_sequence = 0
        self.used_ms = now_ms
        super().assign(batch, producer_id, now_ms)


class RestedManager(TransactionManager):
    """Uses ``Rested``."""

    partition_sequences = Rested


MUTANT = Mutant(
    "restarts a partition's sequence numbers at 0 after ten idle minutes, under the same epoch",
    Components(transaction_manager=RestedManager),
    caught_by=("delivery/a_forgotten_producer_goes_on",),
    breaks=("PRD-IDM-15",),
)
