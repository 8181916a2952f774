"""Keys are hashed differently than in Java, so each key may be assigned to another partition."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner, murmur2
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class OtherSeed(Partitioner):
    """Adds a byte to each key before hashing."""

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        return super().partition(topic, known, None) if key is None else _place(key, known)

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return super().try_partition(topic, known, None) if key is None else _place(key, known)


def _place(key: bytes, known: TopicMetadata) -> int:
    return (murmur2(b"\0" + key) & 0x7FFFFFFF) % len(known.partitions)


MUTANT = Mutant(
    "hashes keys differently than Java",
    Components(partitioner=OtherSeed),
    caught_by=("delivery/a_key_has_the_partition_that_java_gives_it",),
    breaks=("PRD-ISP-06",),
)
