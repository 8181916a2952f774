"""A topic that was made anew is measured by the leader epochs of the old one: its leaders are never believed."""

from __future__ import annotations

from uuid import UUID

from clients.reference.metadata.metadata import Metadata
from clients.reference.metadata.topic_metadata import LeaderEpochs, TopicPartition
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class NameOnly(LeaderEpochs):
    """Knows topics by name alone."""

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        return super().believes(partition, None, epoch)


class OldMetadata(Metadata):
    """Does not look at topic ids."""

    leader_epochs = NameOnly


MUTANT = Mutant(
    "measures a topic that was created anew by the old one's leader epochs",
    Components(metadata=OldMetadata),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-05",),
)
