"""Records without a key go to each partition in turn, which makes many small batches instead of a few full ones."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class InTurn(Partitioner):
    """Chooses the next partition for each record without a key."""

    turn = 0

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        if key is not None:
            return super().partition(topic, known, key)
        super().partition(topic, known, None)
        self.turn += 1
        return self.turn % len(known.partitions)

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return None if key is None else super().try_partition(topic, known, key)


MUTANT = Mutant(
    "changes the partition with every record without a key",
    Components(partitioner=InTurn),
    caught_by=("delivery/keyless_records_fill_a_batch_before_they_move",),
    breaks=("PRD-ISP-07",),
)
