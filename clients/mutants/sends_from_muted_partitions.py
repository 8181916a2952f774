"""With one request in flight a partition is not held back while a batch of it is out."""

from __future__ import annotations

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class DeafAccumulator(RecordAccumulator):
    """Mutes nothing."""

    def mute(self, partition: TopicPartition) -> None:
        """Nothing."""


MUTANT = Mutant(
    "sends a partition's next batch while one is out, with one request in flight",
    Components(accumulator=DeafAccumulator),
    caught_by=("state_transitions/BatchesGoWhenTheyMayAndInOrder",),
    breaks=("PRD-ACC-08",),
)
