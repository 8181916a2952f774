"""A recreated topic is compared with the leader epochs of the old one, so its leaders are never adopted."""

from __future__ import annotations

from uuid import UUID

from clients.reference.metadata.metadata import Metadata
from clients.reference.metadata.topic_metadata import LeaderEpochs, TopicPartition
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class NameOnly(LeaderEpochs):
    """Identifies topics by name alone."""

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        return super().believes(partition, None, epoch)


class OldMetadata(Metadata):
    """Uses ``NameOnly``."""

    leader_epochs = NameOnly


MUTANT = Mutant(
    "compares a recreated topic with the leader epochs of the old topic",
    Components(metadata=OldMetadata),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-05",),
)
