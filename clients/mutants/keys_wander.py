"""After every hundred records, each key is assigned to another partition."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner, partition_for_key
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Wandering(Partitioner):
    """Moves every key to the next partition after each hundred records."""

    records = 0

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        return super().partition(topic, known, None) if key is None else _place(self, key, known)

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return super().try_partition(topic, known, None) if key is None else _place(self, key, known)


def _place(partitioner: Wandering, key: bytes, known: TopicMetadata) -> int:
    partitioner.records += 1
    count = len(known.partitions)
    return (partition_for_key(key, count) + partitioner.records // 100) % count


MUTANT = Mutant(
    "moves the records of a key to another partition after every hundred records",
    Components(partitioner=Wandering),
    caught_by=("partition-moved",),
    breaks=("PRD-ISP-06",),
)
