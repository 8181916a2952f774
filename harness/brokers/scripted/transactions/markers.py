"""The end markers of a transaction: one for each of its partitions (``TransactionMarkerChannelManager``).

A partition gets its marker when its leader can append it, and is done when all in-sync replicas have it. Until then the
transaction stays prepared. A partition that was deleted needs no marker. If a partition knows a newer epoch of the
producer, Kafka gives up the transaction's markers, and so do the scripted brokers.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from harness.brokers.scripted.apis.coordinators import NO_NODE, OFFSETS_TOPIC, offsets_leader
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.topics import NO_LEADER, Partition, Topic
from harness.brokers.scripted.transactions.metadata import TopicPartition

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState


class Marker(NamedTuple):
    """What all markers of a transaction have. ``version`` is the transaction version of its end."""

    producer_id: int
    producer_epoch: int
    commits: bool
    coordinator_epoch: int
    version: int


class Written(Enum):
    """The outcome of writing a marker."""

    DONE = auto()
    LATER = auto()
    REFUSED = auto()


class MarkerWriter:
    """Writes the markers of one transaction. Another coordinator begins again: no partition that is done is stored."""

    def __init__(self, state: ClusterState, marker: Marker) -> None:
        self._state = state
        self.marker = marker
        self._done: set[TopicPartition] = set()
        #: The offsets of markers that are not on all replicas yet.
        self._offsets: dict[TopicPartition, int] = {}

    def write(self, partition: TopicPartition) -> Written:
        """Write the marker of a partition, unless it is there. Call it again for what was to be done later."""
        if partition in self._done:
            return Written.DONE
        written = self._write(partition)
        if written is Written.DONE:
            self._done.add(partition)
        return written

    def _write(self, partition: TopicPartition) -> Written:
        name, index = partition
        if name == OFFSETS_TOPIC:
            return self._end_offsets(index)
        topic = self._state.topics.get(name)
        if topic is None or index >= len(topic.partitions):
            return Written.DONE
        found = topic.partitions[index]
        if not self._is_there(partition, found):
            if not self._may_append(topic, found):
                return Written.LATER
            try:
                self._offsets[partition] = self._append(topic, found)
            except RequestRefused:
                return Written.REFUSED
        return Written.DONE if found.log.high_watermark > self._offsets[partition] else Written.LATER

    def _is_there(self, partition: TopicPartition, found: Partition) -> bool:
        """Return whether the marker is in the log, from which an election may have removed it."""
        return self._offsets.get(partition, found.log.log_end_offset) < found.log.log_end_offset

    def _may_append(self, topic: Topic, found: Partition) -> bool:
        nodes = self._state.nodes
        return (
            found.leader != NO_LEADER
            and nodes[found.leader].paused_until_ns is None
            and len(found.isr) >= found.effective_min_isr(topic.config)
        )

    def _append(self, topic: Topic, found: Partition) -> int:
        marker, now_ms = self.marker, self._state.now_ms
        producer = marker.producer_id, marker.producer_epoch
        appended = found.log.end_transaction(
            producer,
            found.leader_epoch,
            now_ms,
            commits=marker.commits,
            coordinator_epoch=marker.coordinator_epoch,
            version=marker.version,
        )
        found.advance(topic.config)
        self._state.stir()
        return appended.first_offset

    def _end_offsets(self, index: int) -> Written:
        """End the transaction in a partition of ``__consumer_offsets``: pending offsets become visible, or are gone."""
        state, marker, leader = self._state, self.marker, offsets_leader(self._state, index)
        if leader == NO_NODE or state.nodes[leader].paused_until_ns is not None:
            return Written.LATER
        producer = marker.producer_id, marker.producer_epoch
        try:
            state.groups.offsets.end_transaction(
                index, producer, marker.version, state.now_ms, commits=marker.commits
            )
        except RequestRefused:
            return Written.REFUSED
        return Written.DONE
