"""A key of no bytes counts as none: its records are spread over all partitions."""

from __future__ import annotations

from clients.reference.metadata.topic_metadata import TopicMetadata
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components


class Truthy(Partitioner):
    """Asks whether there is a byte."""

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        return super().partition(topic, known, key or None)

    def at_once(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        return super().at_once(topic, known, key or None)

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        super().appended(topic, key or None, size_bytes)


COMPONENTS = Components(partitioner=Truthy)
