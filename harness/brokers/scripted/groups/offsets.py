"""The offsets that groups have committed (``OffsetMetadataManager``), which every coordinator finds in the log.

Offsets of an open transaction are pending: they replace others when the transaction commits, unless these are newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from harness.brokers.scripted.producer_state import ProducerStateManager

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset. ``expires_at_ms`` is set only if the client asked for a retention of its own.

    ``number`` grows with each commit, as the offset of its record in ``__consumer_offsets`` does.
    """

    offset: int
    leader_epoch: int
    metadata: str
    committed_at_ms: int
    expires_at_ms: int | None = None
    number: int = field(default=0, compare=False)


@dataclass(slots=True)
class OffsetsLog:
    """A partition of ``__consumer_offsets``: its transactional producers, and the pending offsets of each by group."""

    producer_state: ProducerStateManager
    pending: dict[int, dict[tuple[str, TopicPartition], Committed]] = field(default_factory=dict)


@dataclass(slots=True)
class OffsetStore:
    """All committed offsets, by group. ``unstable`` are partitions that tests and faults make so.

    ``logs`` are the partitions of ``__consumer_offsets`` with transactions.
    """

    producer_id_expiration_ms: int
    by_group: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    unstable: dict[str, set[TopicPartition]] = field(default_factory=dict)
    logs: dict[int, OffsetsLog] = field(default_factory=dict)
    commits: int = 0

    def log(self, index: int) -> OffsetsLog:
        """Return a partition of ``__consumer_offsets``."""
        if index not in self.logs:
            self.logs[index] = OffsetsLog(ProducerStateManager(self.producer_id_expiration_ms, {}))
        return self.logs[index]

    def commit(self, group_id: str, partition: TopicPartition, committed: Committed) -> None:
        """Store an offset in place of the earlier one."""
        self.by_group.setdefault(group_id, {})[partition] = self._numbered(committed)

    def _numbered(self, committed: Committed) -> Committed:
        self.commits += 1
        return replace(committed, number=self.commits)

    def commit_pending(
        self,
        index: int,
        group_id: str,
        producer: tuple[int, int],
        offsets: Mapping[TopicPartition, Committed],
        now_ms: int,
    ) -> None:
        """Store the offsets that a producer (id and epoch) commits with its transaction. Raises Refused."""
        if not offsets:
            return
        log, (producer_id, epoch) = self.log(index), producer
        log.producer_state.entry(producer_id, now_ms).begin_transaction(epoch)
        log.producer_state.end_verification(producer_id)
        pending = log.pending.setdefault(producer_id, {})
        for partition, committed in offsets.items():
            pending[group_id, partition] = self._numbered(committed)

    def end_transaction(
        self, index: int, producer: tuple[int, int], version: int, now_ms: int, *, commits: bool
    ) -> None:
        """Write the end marker of a producer's transaction. Raises Refused for an old epoch."""
        log, (producer_id, epoch) = self.log(index), producer
        entry = log.producer_state.entry(producer_id, now_ms)
        entry.check_marker(epoch, version)
        entry.end_transaction(epoch, now_ms)
        log.producer_state.end_verification(producer_id, epoch)
        for (group_id, partition), committed in log.pending.pop(producer_id, {}).items():
            known = self.of(group_id).get(partition)
            if commits and (known is None or known.number < committed.number):
                self.by_group.setdefault(group_id, {})[partition] = committed

    def of(self, group_id: str) -> dict[TopicPartition, Committed]:
        """Return the offsets of a group."""
        return self.by_group.get(group_id, {})

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Return whether an open transaction may change an offset."""
        return partition in self.unstable.get(group_id, ()) or any(
            (group_id, partition) in pending for log in self.logs.values() for pending in log.pending.values()
        )

    def forget_topic(self, topic: str) -> None:
        """Delete the offsets of a topic that was deleted."""
        for offsets in self.by_group.values():
            for partition in [each for each in offsets if each[0] == topic]:
                del offsets[partition]
        for log in self.logs.values():
            for pending in log.pending.values():
                for key in [each for each in pending if each[1][0] == topic]:
                    del pending[key]

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
