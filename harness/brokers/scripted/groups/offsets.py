"""The offsets that groups have committed (``OffsetMetadataManager``), which every coordinator finds in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset. ``expires_at_ms`` is set only if the client asked for a retention of its own."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_at_ms: int
    expires_at_ms: int | None = None


@dataclass(slots=True)
class OffsetStore:
    """All committed offsets, by group. ``unstable`` are partitions with offsets of a transaction that is open."""

    by_group: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    unstable: dict[str, set[TopicPartition]] = field(default_factory=dict)

    def commit(self, group_id: str, partition: TopicPartition, committed: Committed) -> None:
        """Store an offset in place of the earlier one."""
        self.by_group.setdefault(group_id, {})[partition] = committed

    def of(self, group_id: str) -> dict[TopicPartition, Committed]:
        """Return the offsets of a group."""
        return self.by_group.get(group_id, {})

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Return whether an open transaction may change an offset."""
        return partition in self.unstable.get(group_id, ())

    def forget_topic(self, topic: str) -> None:
        """Delete the offsets of a topic that was deleted."""
        for offsets in self.by_group.values():
            for partition in [each for each in offsets if each[0] == topic]:
                del offsets[partition]

    def expire(
        self,
        group_id: str,
        now_ms: int,
        retention_ms: int,
        since_ms: Callable[[Committed], int],
        subscribed: Iterable[str] = (),
    ) -> None:
        """Delete the offsets whose retention is over, except those of topics that the group reads.

        ``since_ms`` tells when the retention of an offset begins.
        """
        kept, offsets = frozenset(subscribed), self.by_group.get(group_id, {})
        for partition, each in tuple(offsets.items()):
            until_ms = since_ms(each) + retention_ms if each.expires_at_ms is None else each.expires_at_ms
            if now_ms >= until_ms and partition[0] not in kept and not self.is_unstable(group_id, partition):
                del offsets[partition]
