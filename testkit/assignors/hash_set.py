"""The one choice that Java's sticky assignors leave to a HashSet: which of several moved partitions returns.

The reference client takes the lowest one. The comparison lets it choose as Java does, so that all else can be equal.
"""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.consumer.assignors.assignor import TopicPartition

_WORD = 1 << 32
_SMALLEST_TABLE = 16


class FirstOfHashSet:
    """Picks the partition that a HashSet returns first. ``choices`` counts the picks that had an alternative."""

    def __init__(self) -> None:
        self.choices = 0

    def __call__(self, partitions: Collection[TopicPartition]) -> TopicPartition:
        """Return the first partition, by its place in a table of the size that Java uses for that many."""
        self.choices += len(partitions) > 1
        table = _SMALLEST_TABLE
        while len(partitions) > table * 3 // 4:
            table *= 2
        return min(partitions, key=lambda partition: _spread(_hash(partition)) % table)


def _hash(partition: TopicPartition) -> int:
    """TopicPartition.hashCode, as an unsigned word."""
    topic, number = partition
    of_topic = 0
    for character in topic:
        of_topic = (31 * of_topic + ord(character)) % _WORD
    return (31 * (31 + number) + of_topic) % _WORD


def _spread(hashed: int) -> int:
    """HashMap.hash."""
    return hashed ^ hashed >> 16
