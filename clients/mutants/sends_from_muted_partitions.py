"""With one request in flight a partition is not held back while a batch of it is out."""

from __future__ import annotations

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator


class DeafAccumulator(RecordAccumulator):
    """Mutes nothing."""

    def mute(self, partition: TopicPartition) -> None:
        """Nothing."""


COMPONENTS = Components(accumulator=DeafAccumulator)
