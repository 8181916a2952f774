"""With a limit of one request in flight, a partition is not held back while one of its batches is in flight."""

from __future__ import annotations

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class DeafAccumulator(RecordAccumulator):
    """Never mutes a partition."""

    def mute(self, partition: TopicPartition) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "sends a partition's next batch while one is in flight, despite a limit of one",
    Components(accumulator=DeafAccumulator),
    caught_by=("state_transitions/BatchesGoWhenTheyMayAndInOrder",),
    breaks=("PRD-ACC-08",),
)
