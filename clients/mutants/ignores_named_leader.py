"""The new leader that a refusal names is not adopted: the client waits for a Metadata answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer import Components


class Deaf(Metadata):
    """Learns from Metadata answers alone."""

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        return set()


COMPONENTS = Components(metadata=Deaf)
