"""The client applies every Metadata response, even one whose leader epoch is older than a known one."""

from __future__ import annotations

from uuid import UUID

from clients.reference.metadata.metadata import Metadata
from clients.reference.metadata.topic_metadata import LeaderEpochs, TopicPartition
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class NoMemory(LeaderEpochs):
    """Forgets the known epoch of a partition before it compares."""

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        self._seen.pop(partition, None)
        return super().believes(partition, topic_id, epoch)


class GullibleMetadata(Metadata):
    """Uses ``NoMemory``."""

    leader_epochs = NoMemory


MUTANT = Mutant(
    "applies a Metadata response even if its leader epoch is older than a known one",
    Components(metadata=GullibleMetadata),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-04",),
)
