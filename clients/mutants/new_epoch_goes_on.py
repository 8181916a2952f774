"""The sequence numbers of a partition continue when its epoch is raised, although they must restart at 0."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.records import increment_sequence


class Continuing(PartitionSequences):
    """Keeps counting after a restart."""

    def restart(self, producer_id: ProducerId, now_ms: int) -> None:
        due = self.in_flight[0].base_sequence if self.in_flight else self.next_sequence
        super().restart(producer_id, now_ms)
        for batch in self.in_flight:
            batch.restart_sequence(producer_id, due)
            due = increment_sequence(due, batch.record_count)
        self.next_sequence = due


class ContinuingManager(TransactionManager):
    """Uses ``Continuing``."""

    partition_sequences = Continuing


MUTANT = Mutant(
    "continues the old sequence numbers under a new epoch",
    Components(transaction_manager=ContinuingManager),
    caught_by=(
        "delivery/a_broken_chain_begins_anew",
        "delivery/a_new_epoch_begins_at_0_and_ends_the_old_one",
    ),
    breaks=("PRD-IDM-14",),
)
