"""The last Metadata answer is believed, even where its leader epoch is older than one that was seen."""

from __future__ import annotations

from uuid import UUID

from clients.reference.metadata.metadata import Metadata
from clients.reference.metadata.topic_metadata import LeaderEpochs, TopicPartition
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class NoMemory(LeaderEpochs):
    """Takes every epoch for the newest."""

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        self._seen.pop(partition, None)
        return super().believes(partition, topic_id, epoch)


class GullibleMetadata(Metadata):
    """Cannot tell old news from new."""

    leader_epochs = NoMemory


MUTANT = Mutant(
    "believes the last Metadata answer, also one with an older leader epoch",
    Components(metadata=GullibleMetadata),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-04",),
)
