"""The partitions that moved during one rebalance, so that no topic moves from one member to another and back.

If a partition is to move from a to b while another one of its topic has moved from b to a, that one returns instead.

Source: AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from clients.reference.consumer.assignors.assignor import TopicPartition

Pick = Callable[[Collection[TopicPartition]], TopicPartition]
"""Which of several partitions that may return does so. Java takes the first one of a HashSet."""


class _Move(NamedTuple):
    source: str
    target: str


class Movements:
    """The first and the last owner of each partition that moved and did not return."""

    def __init__(self, pick: Pick) -> None:
        self._pick = pick
        self._moves: dict[TopicPartition, _Move] = {}
        self._partitions: dict[tuple[str, _Move], dict[TopicPartition, None]] = {}

    def better(self, partition: TopicPartition, owner: str, target: str) -> TopicPartition:
        """Return the partition to move from ``owner`` to ``target``: ``partition``, or one that can return."""
        origin = self._moves[partition].source if partition in self._moves else owner
        returning = self._partitions.get((partition[0], _Move(target, origin)))
        return self._pick(returning) if returning else partition

    def add(self, partition: TopicPartition, owner: str, target: str) -> None:
        """Remember that a partition moved from ``owner`` to ``target``."""
        source = owner
        if earlier := self._moves.pop(partition, None):
            source = earlier.source
            del self._partitions[partition[0], earlier][partition]
        if source != target:
            move = self._moves[partition] = _Move(source, target)
            self._partitions.setdefault((partition[0], move), {})[partition] = None
