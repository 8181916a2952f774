"""A topic that was made anew is measured by the leader epochs of the old one: its leaders are never believed."""

from __future__ import annotations

from uuid import UUID

from clients.reference.metadata import Metadata
from clients.reference.producer import Components
from clients.reference.topic_metadata import LeaderEpochs, TopicPartition


class NameOnly(LeaderEpochs):
    """Knows topics by name alone."""

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        return super().believes(partition, None, epoch)


class OldMetadata(Metadata):
    """Does not look at topic ids."""

    leader_epochs = NameOnly


COMPONENTS = Components(metadata=OldMetadata)
