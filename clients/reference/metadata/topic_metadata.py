"""The metadata of topics, and which reports of a partition's leader are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

TopicPartition = tuple[str, int]

NO_TOPIC_ID = UUID(int=0)
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The leader of a partition and its epoch. ``leader`` is None and ``epoch`` is -1 if unknown.

    The replicas are node ids. They do not count when two metadata are compared.
    """

    leader: int | None
    epoch: int
    replicas: tuple[int, ...] = field(default=(), compare=False)
    in_sync_replicas: tuple[int, ...] = field(default=(), compare=False)
    offline_replicas: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic's partitions by index. ``available`` are those with a leader, in order."""

    topic_id: UUID | None
    partitions: Mapping[int, PartitionMetadata]
    available: tuple[int, ...]

    @classmethod
    def of(cls, topic_id: UUID | None, partitions: Mapping[int, PartitionMetadata]) -> TopicMetadata:
        """Return a TopicMetadata whose ``available`` is derived from the leaders."""
        available = sorted(index for index, known in partitions.items() if known.leader is not None)
        return cls(topic_id, partitions, tuple(available))


class LeaderEpochs:
    """The newest leader epoch seen for every partition, from any response (lastSeenLeaderEpochs in Java)."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, tuple[UUID | None, int]] = {}

    def believes(self, partition: TopicPartition, topic_id: UUID | None, epoch: int) -> bool:
        """Store an epoch unless it is older than the known one (MET-04). Return whether it was stored.

        An older epoch comes from a broker that lags. Epochs of a recreated topic start again (MET-05). Without an
        epoch there is nothing to compare.
        """
        seen = self._seen.get(partition)
        if seen and seen[0] == topic_id and NO_EPOCH < epoch < seen[1]:
            return False
        self._seen[partition] = (topic_id, epoch)
        return True

    def newest(self, partition: TopicPartition) -> int:
        """Return the newest epoch, or NO_EPOCH if none is known."""
        return self._seen.get(partition, (None, NO_EPOCH))[1]

    def retain(self, topics: Mapping[str, object]) -> None:
        """Forget the partitions of all other topics."""
        self._seen = {partition: seen for partition, seen in self._seen.items() if partition[0] in topics}
