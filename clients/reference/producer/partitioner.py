"""Which partition a record goes to (PRD-ISP-06, -07).

A key is hashed with murmur2, as in Java's Utils.murmur2 (seed 0x9747b28c), so that every client puts a key into the
same partition. A record without a key sticks to one partition until about batch.size bytes went there, then moves
(KIP-480, KIP-794): fewer, fuller batches.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import Metadata, TopicMetadata, TopicPartition
from clients.reference.ports import Jitter, Node

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_words = struct.Struct("<I").iter_unpack


@lru_cache(maxsize=65_536)
def murmur2(data: bytes) -> int:
    """The 32-bit hash, signed as Java's int."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (k,) in _words(data[:whole]):
        k = (k * _M) & _MASK
        k ^= k >> 24
        h = ((h * _M) & _MASK) ^ ((k * _M) & _MASK)
    tail = data[whole:]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) * _M) & _MASK
    h = ((h ^ (h >> 13)) * _M) & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The same for every client that counts as many partitions, with a leader or not (PRD-ISP-06)."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Queues(Protocol):
    """What the choice depends on: the queues of batches (RecordAccumulator has them)."""

    def load_of(self, topic: str, known: TopicMetadata) -> Sequence[tuple[int, int]] | None:
        """(partition, batches waiting) of those that may be chosen; None where the load shall not matter."""

    def is_filling(self, partition: TopicPartition) -> bool:
        """Is there a batch with room? To move on now would leave it half full."""


class ClusterView:
    """What a partitioner of the application may know of the cluster."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has; 0 where it is not known."""
        known = self._metadata.topics.get(topic)
        return len(known.partitions) if known else 0

    def available_partitions(self, topic: str) -> tuple[int, ...]:
        """Those with a leader, in order."""
        known = self._metadata.topics.get(topic)
        return known.available if known else ()

    def leader_of(self, topic: str, partition: int) -> Node | None:
        """None where nobody leads, or the leader's address is not known."""
        leader = self._metadata.leader_of((topic, partition))
        return None if leader is None else self._metadata.nodes[leader]


class CustomPartitioner(Protocol):
    """A partitioner of the application's own (partitioner.class)."""

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        """The partition for a record that names none. Must be one that the topic has."""


class RoundRobinPartitioner:
    """Every partition in turn, whatever the key (org.apache.kafka.clients.producer.RoundRobinPartitioner)."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        """The next partition with a leader; where none has one, the next of all."""
        turn = self._turns.get(topic, 0)
        self._turns[topic] = turn + 1
        choices = cluster.available_partitions(topic) or range(cluster.partition_count(topic))
        return choices[turn % len(choices)]


@dataclass(slots=True)
class Sticky:
    """Where a topic's keyless records go at present, and how many bytes went there."""

    partition: int
    known: TopicMetadata
    bytes: int = 0


class Partitioner:
    """The choice for every topic of one producer."""

    def __init__(self, config: ProducerConfig, dice: Jitter, queues: Queues) -> None:
        self.ignores_keys = config.partitioner_ignore_keys
        self.most_bytes = 2 * max(config.batch_size, 1)  # no topic sticks longer, however its batches fall
        self.sticky: dict[str, Sticky] = {}
        self._dice = dice
        self._queues = queues

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        """The partition for a record that names none; an empty key is a key."""
        if key is not None and not self.ignores_keys:
            return partition_for_key(key, len(known.partitions))
        sticky = self.sticky.get(topic)
        if sticky is None or sticky.known is not known or self._is_enough(topic, sticky):
            sticky = self.sticky[topic] = self._keep_or_choose(topic, sticky, known)
        return sticky.partition

    def at_once(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        """The same choice where it takes no thought, else None."""
        if key is not None and not self.ignores_keys:
            return partition_for_key(key, len(known.partitions))
        sticky = self.sticky.get(topic)
        if sticky is None or sticky.known is not known or sticky.bytes >= self.most_bytes:
            return None
        return sticky.partition

    def bytes_left(self, topic: str) -> int:
        """How many bytes of keyless records a topic's partition takes before ``at_once`` must think."""
        return self.most_bytes - self.sticky[topic].bytes

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        """A record that named no partition went out."""
        if key is None or self.ignores_keys:
            self.sticky[topic].bytes += size_bytes

    def _is_enough(self, topic: str, sticky: Sticky) -> bool:
        """Move on when a batch's worth went there, but not within a batch, unless twice that did."""
        if 2 * sticky.bytes < self.most_bytes:
            return False
        return sticky.bytes >= self.most_bytes or not self._queues.is_filling((topic, sticky.partition))

    def _keep_or_choose(self, topic: str, sticky: Sticky | None, known: TopicMetadata) -> Sticky:
        """After news about a topic: stay, unless the partition has lost its leader (Java stays even then)."""
        stays = sticky and not self._is_enough(topic, sticky)
        if sticky and stays and sticky.partition in (known.available or known.partitions):
            sticky.known = known
            return sticky
        return Sticky(self._choose(topic, known), known)

    def _choose(self, topic: str, known: TopicMetadata) -> int:
        """By the load where it is known and uneven, else every partition with a leader is as good."""
        load = self._queues.load_of(topic, known)
        if load:
            longest = max(waiting for _, waiting in load)
            heights = list(accumulate(longest + 1 - waiting for _, waiting in load))
            return load[bisect_right(heights, self._roll(heights[-1]))][0]
        choices = known.available or tuple(sorted(known.partitions))
        return choices[self._roll(len(choices))]

    def _roll(self, sides: int) -> int:
        return min(int((self._dice() + 1) / 2 * sides), sides - 1)
