"""Seats: the fast path of a record into its batch.

Nearly every record resembles the previous one: it is plain, its batch is open, and its topic is known. A seat caches
what was determined for the previous record, so that the next one needs no checks. It is valid until the topic metadata
changes, or until its batch is closed or nearly full. A record that it cannot take goes the slow path (producer.py),
which decides exactly and leaves a new seat. Both paths must produce the same batches (PRD-ACC-01).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer_batch import Callback, ProducerBatch
from clients.reference.producer.record_size import PLAIN_OVERHEAD_BYTES
from clients.reference.producer.send_handle import Delivery
from clients.reference.states import BatchState
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder

_OPEN = BatchState.OPEN
Key = str | tuple[str, int | None]
"""A topic for its records without key and partition, or a topic and a partition for others."""


@dataclass(slots=True, eq=False)
class AppendCacheEntry:
    """A batch with room: its records plus ``weight`` times the next one must stay below ``end_bytes``.

    ``builder`` is the batch's, and ``append`` the builder's.
    """

    batch: ProducerBatch
    append: Callable[[int, bytes | None, bytes | None], int]
    builder: BatchBuilder
    weight: float  # 1 as an int is faster than 1.0
    end_bytes: float
    used_at_ms: int


class Seats:
    """The seats of one producer, derived from ``topics``. They must be cleared if metadata has other topics.

    ``most_bytes`` is the most that a batch with one record may take. ``new_delivery`` takes a Delivery's fields,
    ``owner`` last.
    """

    def __init__(
        self,
        metadata: Metadata,
        partitioner: Partitioner,
        most_bytes: int,
        new_delivery: Callable[..., Delivery],
        owner: Any,
    ) -> None:
        self._metadata = metadata
        self._partitioner = partitioner
        self._appended = partitioner.appended
        self._most_bytes = most_bytes
        self._new_delivery = new_delivery
        self._owner = owner
        self._entries: dict[Key, AppendCacheEntry] = {}
        self.topics = metadata.topics

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        now_ms: int,
        callback: Callback | None = None,
        partition: int | None = None,
    ) -> Delivery | None:
        """Append a record without headers and with a valid timestamp.

        Return its delivery, or None if it has no seat.
        """
        plain = partition is None and key is None
        entry = self._entries.get(topic) if plain else self._entry_of(topic, key, partition)
        if entry is None:
            return None
        size_bytes = PLAIN_OVERHEAD_BYTES if key is None else PLAIN_OVERHEAD_BYTES + len(key)
        if type(value) is bytes:
            size_bytes += len(value)
        elif value is not None:
            return None
        batch, builder = entry.batch, entry.builder
        used_bytes = builder.records_bytes
        if used_bytes + size_bytes * entry.weight >= entry.end_bytes or batch.state is not _OPEN:
            return None
        if entry.used_at_ms != now_ms:
            self._metadata.add(topic, now_ms)
            entry.used_at_ms = now_ms
        index = entry.append(timestamp_ms, key, value)
        if callback is not None:
            batch.callbacks.append((index, timestamp_ms, callback))
        if partition is None:
            self._appended(topic, key, builder.records_bytes - used_bytes)
        return self._new_delivery(timestamp_ms, batch, index, None, self._owner)

    def _entry_of(self, topic: str, key: bytes | None, partition: int | None) -> AppendCacheEntry | None:
        """Return the seat for a given partition, or for a key's partition."""
        if not (key is None or type(key) is bytes):
            return None
        if partition is None:
            known = self.topics.get(topic)
            if known is None:
                return None
            partition = self._partitioner.try_partition(topic, known, key)
        return self._entries.get((topic, partition))

    def leave(self, batch: ProducerBatch, now_ms: int, *, keyless: bool) -> None:
        """Leave a seat in ``batch`` after a record took the slow path. ``keyless``: without key and partition."""
        topic, partition = batch.partition
        if batch.grant is None:
            return
        # The new record weighs more on the wire than the earlier ones. Weighting it in every bound is conservative.
        bounds = [batch.limit_bytes / batch.growth, batch.grant.size_bytes + 1, self._most_bytes + 1]
        if keyless:
            known = self._metadata.topics[topic]
            if partition != self._partitioner.try_partition(topic, known, None):
                return
            bounds.append(batch.builder.size_bytes + self._partitioner.bytes_left(topic))
        self._entries[topic if keyless else batch.partition] = AppendCacheEntry(
            batch,
            batch.builder.append,
            batch.builder,
            1 if batch.growth >= 1 else 1 / batch.growth,
            min(bounds) - BATCH_OVERHEAD_BYTES,
            now_ms,
        )

    def vacate(self, batch: ProducerBatch) -> None:
        """Remove the seats of a batch that has ended."""
        for key in (batch.partition, batch.partition[0]):
            entry = self._entries.get(key)
            if entry is not None and entry.batch is batch:
                del self._entries[key]

    def clear(self) -> None:
        """Remove all seats, as anything may have changed."""
        self.topics = self._metadata.topics
        self._entries.clear()
