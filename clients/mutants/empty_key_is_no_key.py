"""An empty key counts as no key, so records with an empty key are spread over all partitions."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Truthy(Partitioner):
    """Replaces an empty key by null."""

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        return super().partition(topic, known, key or None)

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return super().try_partition(topic, known, key or None)

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        super().appended(topic, key or None, size_bytes)


MUTANT = Mutant(
    "treats an empty key as no key",
    Components(partitioner=Truthy),
    caught_by=("delivery/a_key_has_the_partition_that_java_gives_it",),
    breaks=("PRD-ISP-06",),
)
