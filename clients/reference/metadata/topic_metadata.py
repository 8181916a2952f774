"""What is known of topics, and which news about a partition's leader is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

TopicPartition = tuple[str, int]

NO_TOPIC_ID = UUID(int=0)
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """Who leads a partition since which epoch; ``leader`` is None while nobody is known to, ``epoch`` -1 if unknown."""

    leader: int | None
    epoch: int


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic's partitions by index; ``available`` are those with a leader, in order."""

    topic_id: UUID | None
    partitions: Mapping[int, PartitionMetadata]
    available: tuple[int, ...]

    @classmethod
    def of(cls, topic_id: UUID | None, partitions: Mapping[int, PartitionMetadata]) -> TopicMetadata:
        """With ``available`` worked out from the leaders."""
        available = sorted(index for index, known in partitions.items() if known.leader is not None)
        return cls(topic_id, partitions, tuple(available))


class LeaderEpochs:
    """The newest leader epoch seen of every partition, whoever told it (lastSeenLeaderEpochs in Java)."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, tuple[UUID | None, int]] = {}

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        """Take an epoch over, unless it is older: a broker may lag behind another (MET-04).

        A topic that was created anew begins anew (MET-05), and without an epoch there is nothing to compare.
        """
        seen = self._seen.get(partition)
        if seen and seen[0] == topic_id and NO_EPOCH < epoch < seen[1]:
            return False
        self._seen[partition] = (topic_id, epoch)
        return True

    def newest(self, partition: TopicPartition) -> int:
        """NO_EPOCH where none was told."""
        return self._seen.get(partition, (None, NO_EPOCH))[1]

    def retain(self, topics: Mapping[str, object]) -> None:
        """Forget the partitions of all other topics."""
        self._seen = {partition: seen for partition, seen in self._seen.items() if partition[0] in topics}
