"""The choice of a record's partition (PRD-ISP-06, -07).

A key is hashed with murmur2, as in Java's Utils.murmur2 (seed 0x9747b28c), so that every client maps a key to the same
partition. Records without a key stick to one partition until it has received about batch.size bytes, and then switch
(KIP-480, KIP-794). This gives fewer, fuller batches.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, Protocol

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import Metadata, TopicMetadata, TopicPartition
from clients.reference.ports import Jitter, Node

LONGEST_REMEMBERED_BYTES = 64
_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_words = struct.Struct("<I").iter_unpack


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash, signed like Java's int."""
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


_remembered = lru_cache(maxsize=16_384)(murmur2)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the key's partition, the same for every client that sees this many partitions (PRD-ISP-06).

    Partitions without a leader count too. Hashing takes long in Python, so the hashes of the last short keys are kept.
    They take 3 MiB at most. Long keys are never kept.
    """
    hashed = _remembered(key) if len(key) <= LONGEST_REMEMBERED_BYTES else murmur2(key)
    return (hashed & 0x7FFFFFFF) % partition_count


class Queues(Protocol):
    """The queues of batches that the choice depends on (RecordAccumulator implements this)."""

    def load_of(self, topic: str, known: TopicMetadata) -> Sequence[tuple[int, int]] | None:
        """Return (partition, waiting batches) of the eligible partitions. None if the load should not matter."""

    def is_filling(self, partition: TopicPartition) -> bool:
        """Return whether there is a batch with room. Switching partitions now would leave it half full."""


class ClusterView:
    """What an application's partitioner may know of the cluster: its state at one moment."""

    def __init__(self, metadata: Metadata) -> None:
        self._topics, self._nodes = metadata.topics, metadata.nodes

    def partition_count(self, topic: str) -> int:
        """Return the topic's number of partitions. 0 if the topic is unknown."""
        known = self._topics.get(topic)
        return len(known.partitions) if known else 0

    def available_partitions(self, topic: str) -> tuple[int, ...]:
        """Return the partitions that have a leader, in order."""
        known = self._topics.get(topic)
        return known.available if known else ()

    def leader_of(self, topic: str, partition: int) -> Node | None:
        """Return the partition's leader, or None if the leader or its address is unknown."""
        known = self._topics.get(topic)
        found = known.partitions.get(partition) if known else None
        return None if found is None or found.leader is None else self._nodes.get(found.leader)


class CustomPartitioner(Protocol):
    """The interface of an application's partitioner (partitioner.class).

    Each sending thread calls it, without any lock of the producer. ``send`` raises its exceptions.
    """

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        """Return the partition for a record that names none. The topic must have it."""


class RoundRobinPartitioner:
    """Uses each partition in turn, whatever the key (org.apache.kafka.clients.producer.RoundRobinPartitioner)."""

    def __init__(self) -> None:
        self._turns: dict[str, Iterator[int]] = {}  # both operations on it are atomic

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        """Return the next partition that has a leader, or the next of all partitions if none has one."""
        turn = next(self._turns.setdefault(topic, count()))
        choices = cluster.available_partitions(topic) or range(cluster.partition_count(topic))
        return choices[turn % len(choices)]


@dataclass(slots=True)
class Sticky:
    """The current partition of a topic's keyless records, and how many bytes it has received."""

    partition: int
    known: TopicMetadata
    bytes: int = 0


class Partitioner:
    """Chooses the partitions for all topics of one producer."""

    def __init__(self, config: ProducerConfig, dice: Jitter, queues: Queues) -> None:
        self.ignores_keys = config.partitioner_ignore_keys
        self.most_bytes = 2 * max(config.batch_size, 1)  # the maximum before a topic switches partitions
        self.sticky: dict[str, Sticky] = {}
        self._dice = dice
        self._queues = queues

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        """Return the partition for a record that names none. An empty key is a key."""
        if key is not None and not self.ignores_keys:
            return partition_for_key(key, len(known.partitions))
        sticky = self.sticky.get(topic)
        if sticky is None or sticky.known is not known or self.is_enough(topic, sticky):
            sticky = self.sticky[topic] = self._keep_or_choose(topic, sticky, known)
        return sticky.partition

    def try_partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int | None:
        """Return the same choice if it needs no decision, else None."""
        if key is not None and not self.ignores_keys:
            return partition_for_key(key, len(known.partitions))
        sticky = self.sticky.get(topic)
        if sticky is None or sticky.known is not known or sticky.bytes >= self.most_bytes:
            return None
        return sticky.partition

    def bytes_left(self, topic: str) -> int:
        """Return the bytes of keyless records that the topic's partition accepts until ``try_partition`` gives None."""
        return self.most_bytes - self.sticky[topic].bytes

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        """Count a record that named no partition."""
        if key is None or self.ignores_keys:
            self.sticky[topic].bytes += size_bytes

    def is_enough(self, topic: str, sticky: Sticky) -> bool:
        """Return whether to switch: after a batch.size, but within an open batch only after twice that."""
        if 2 * sticky.bytes < self.most_bytes:
            return False
        return sticky.bytes >= self.most_bytes or not self._queues.is_filling((topic, sticky.partition))

    def _keep_or_choose(self, topic: str, sticky: Sticky | None, known: TopicMetadata) -> Sticky:
        """Keep the partition after a metadata change, unless it has lost its leader (Java keeps it even then)."""
        stays = sticky and not self.is_enough(topic, sticky)
        if sticky and stays and sticky.partition in (known.available or known.partitions):
            sticky.known = known
            return sticky
        return Sticky(self._choose(topic, known), known)

    def _choose(self, topic: str, known: TopicMetadata) -> int:
        """Choose by load if it is known and uneven, or else among the partitions with a leader, uniformly."""
        load = self._queues.load_of(topic, known)
        if load:
            longest = max(waiting for _, waiting in load)
            heights = list(accumulate(longest + 1 - waiting for _, waiting in load))
            return load[bisect_right(heights, self._roll(heights[-1]))][0]
        choices = known.available or tuple(sorted(known.partitions))
        return choices[self._roll(len(choices))]

    def _roll(self, sides: int) -> int:
        return min(int((self._dice() + 1) / 2 * sides), sides - 1)
