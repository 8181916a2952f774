"""ConsumerRecord and ConsumerRecords: what ``poll`` returns, with Java's fields and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.reference.metadata.topic_metadata import TopicPartition

TimestampType = Literal["CreateTime", "LogAppendTime"]


class ConsumerRecord(msgspec.Struct, frozen=True, gc=False):
    """One record. ``leader_epoch`` is its leader's epoch when it was written, None if the broker does not know it.

    ``timestamp_ms`` is Unix time, set by whom ``timestamp_type`` says. ``headers`` are (name, value) pairs. The
    serialized sizes are -1 for a null key or value. The garbage collector ignores records, because it would visit
    every one that is buffered: a key or value must not refer to its own record.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: TimestampType
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int | None
    serialized_key_size_bytes: int
    serialized_value_size_bytes: int


class ConsumerRecords:
    """The records of one poll, by partition, each partition in offset order.

    ``next_offsets`` are the positions after these records, also of partitions that have none here but whose position
    moved (KIP-1094).
    """

    __slots__ = ("_by_partition", "next_offsets")

    def __init__(
        self,
        by_partition: Mapping[TopicPartition, Sequence[ConsumerRecord]],
        next_offsets: Mapping[TopicPartition, OffsetAndMetadata] = MappingProxyType({}),
    ) -> None:
        self._by_partition = {partition: records for partition, records in by_partition.items() if records}
        self.next_offsets = dict(next_offsets)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that have records."""
        return tuple(self._by_partition)

    def records(self, partition: TopicPartition) -> Sequence[ConsumerRecord]:
        """Return a partition's records. Empty if it has none."""
        return self._by_partition.get(partition, ())

    def records_of_topic(self, topic: str) -> Iterator[ConsumerRecord]:
        """Yield a topic's records, partition by partition."""
        for partition, records in self._by_partition.items():
            if partition[0] == topic:
                yield from records

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return chain.from_iterable(self._by_partition.values())

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(map(len, self._by_partition.values()))

    def __len__(self) -> int:
        return self.count

    @property
    def is_empty(self) -> bool:
        """Whether there are no records."""
        return not self._by_partition
