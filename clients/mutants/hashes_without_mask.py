"""The sign of a key's hash is removed by abs() instead of a mask, so half of the keys change their partition."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner, murmur2
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Absolute(Partitioner):
    """Uses the absolute value of the hash."""

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        return super().partition(topic, known, None) if key is None else _place(key, known)

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return super().try_partition(topic, known, None) if key is None else _place(key, known)


def _place(key: bytes, known: TopicMetadata) -> int:
    return abs(murmur2(key)) % len(known.partitions)


MUTANT = Mutant(
    "takes the absolute value of a key's hash instead of masking its sign bit",
    Components(partitioner=Absolute),
    caught_by=("delivery/a_key_has_the_partition_that_java_gives_it",),
    breaks=("PRD-ISP-06",),
)
