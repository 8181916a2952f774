"""The controls of logs: what the harness stores itself, compaction, new leader epochs, lost records."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from harness.brokers.scripted.answer import NS_PER_MS
from harness.brokers.scripted.controls import ClusterControls
from harness.brokers.scripted.topics import NO_LEADER
from harness.model.errors import UsageError


class LogControls(ClusterControls):
    """Changes of logs from outside of Kafka's protocol. They raise UsageError for a partition that does not exist."""

    def fill(self, topic: str, partition: int, batches: Iterable[bytes], now_ns: int) -> list[int]:
        """Append batches as they are, in the current leader epoch. Return the base offset of each.

        Transactional batches and their end markers (``harness.wire.records.end_transaction_marker``) are taken too: a
        transaction without a marker stays open, and readers of committed records wait in front of it.
        """
        found, config = self._partition(topic, partition), self._topic(topic).config
        now_ms = self._state.wall_ms_at_zero + now_ns // NS_PER_MS
        appended = [found.log.fill(batch, found.leader_epoch, now_ms) for batch in batches]
        found.advance(config)
        self._state.stir()
        return [each.first_offset for each in appended]

    def compact(self, topic: str, partition: int, offsets: Collection[int]) -> None:
        """Remove records as log compaction does. The others keep their offsets."""
        self._partition(topic, partition).log.compact(offsets)

    def begin_epoch(self, topic: str, partition: int) -> int:
        """Let the leader of a partition lead on in a new epoch, as after a short election. Return the epoch."""
        found = self._partition(topic, partition)
        if found.leader == NO_LEADER:
            raise UsageError(
                "no-leader", "{topic}-{partition} has no leader now", topic=topic, partition=partition
            )
        found.lead(found.leader)
        self._state.changed()
        return found.leader_epoch

    def elect_uncleanly(self, topic: str, partition: int, node_id: int) -> None:
        """Make a live replica outside of the ISR the leader. The records that it lacks are lost."""
        found = self._partition(topic, partition)
        if node_id not in found.replicas or not self._node(node_id).is_alive:
            raise UsageError("node-cannot-lead", "node {node_id} cannot lead: it is not up", node_id=node_id)
        found.lead_uncleanly(node_id)
        found.advance(self._topic(topic).config)
        self._state.changed()

    def set_racks(self, racks: dict[int, str]) -> None:
        """Place nodes in racks, and let leaders send clients to a replica in their own rack (KIP-392)."""
        for node_id, rack in racks.items():
            self._node(node_id).rack = rack
        self.settings.rack_aware_replica_selector = True
