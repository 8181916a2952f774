"""Which partition a record goes to (PRD-ISP-06, -07).

A key is hashed with murmur2, as in Java's Utils.murmur2 (seed 0x9747b28c), so that every client puts a key into the
same partition. A record without a key sticks to one partition until about batch.size bytes went there, then moves
(KIP-480, KIP-794): fewer, fuller batches.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from clients.reference.config import ProducerConfig
from clients.reference.metadata import TopicMetadata
from clients.reference.ports import Jitter

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
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Partitioner:
    """The choice for every topic of one producer."""

    def __init__(self, config: ProducerConfig, dice: Jitter) -> None:
        self._ignore_keys = config.partitioner_ignore_keys
        self._batch_bytes = max(config.batch_size, 1)
        self._dice = dice
        self._sticky: dict[str, _Sticky] = {}

    def partition(self, topic: str, known: TopicMetadata, key: bytes | None) -> int:
        """The partition for a record that names none; an empty key is a key."""
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, len(known.partitions))
        sticky = self._sticky.get(topic)
        if sticky is None or sticky.known is not known:
            sticky = self._sticky[topic] = self._keep_or_choose(sticky, known)
        return sticky.partition

    def appended(self, topic: str, known: TopicMetadata, size_bytes: int, batch_is_full: bool) -> None:
        """A keyless record went out; move on when a batch's worth is, but within a batch only after twice that."""
        sticky = self._sticky.get(topic)
        if sticky is None:
            return
        sticky.bytes += size_bytes
        if sticky.bytes >= self._batch_bytes * (1 if batch_is_full else 2):
            self._sticky[topic] = self._choose(known)

    def _keep_or_choose(self, sticky: _Sticky | None, known: TopicMetadata) -> _Sticky:
        """After news about a topic: stay, unless the partition has lost its leader."""
        if sticky and sticky.partition in (known.available or known.partitions):
            sticky.known = known
            return sticky
        return self._choose(known)

    def _choose(self, known: TopicMetadata) -> _Sticky:
        choices = known.available or tuple(sorted(known.partitions))
        position = int((self._dice() + 1) / 2 * len(choices))
        return _Sticky(choices[min(position, len(choices) - 1)], known)


@dataclass(slots=True)
class _Sticky:
    partition: int
    known: TopicMetadata
    bytes: int = 0
