"""Seats: the quick way of a record into its batch.

Nearly every record is like the one before it: a plain one, for a batch that is open, of a topic that is known. What
was found out for the one before is its seat, and the next one takes it without asking again. A seat is good until
there is news of the topics, or until its batch is closed or as good as full; what it cannot take goes the whole way
(producer.py), which decides exactly and leaves a new seat. Both ways must come to the same batches (PRD-ACC-01).
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
"""A topic for its records without key and partition, else a topic and a partition."""


@dataclass(slots=True, eq=False)
class Seat:
    """A batch with room: its records and ``weight`` times the next one must stay below ``end_bytes``.

    ``builder`` is the batch's, and ``append`` the builder's.
    """

    batch: ProducerBatch
    append: Callable[[int, bytes | None, bytes | None], int]
    builder: BatchBuilder
    weight: float  # 1 as an int is quicker than 1.0
    end_bytes: float
    used_at_ms: int


class Seats:
    """The seats of one producer, found out from ``topics``; they must be cleared where metadata has others.

    Where ``partitioner`` does not choose, the application's own does.

    ``most_bytes`` is what a batch with one record may take; ``new_delivery`` takes a Delivery's fields, ``owner`` last.
    """

    def __init__(
        self,
        metadata: Metadata,
        partitioner: Partitioner,
        chooses: bool,
        most_bytes: int,
        new_delivery: Callable[..., Delivery],
        owner: Any,
    ) -> None:
        self._metadata = metadata
        self._partitioner = partitioner
        self._appended = partitioner.appended
        self._chooses = chooses
        self._most_bytes = most_bytes
        self._new_delivery = new_delivery
        self._owner = owner
        self._seats: dict[Key, Seat] = {}
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
        """The delivery of a record without headers, whose timestamp is in range; None where it has no seat."""
        plain = partition is None and key is None
        seat = self._seats.get(topic) if plain else self._seat_of(topic, key, partition)
        if seat is None:
            return None
        size_bytes = PLAIN_OVERHEAD_BYTES if key is None else PLAIN_OVERHEAD_BYTES + len(key)
        if type(value) is bytes:
            size_bytes += len(value)
        elif value is not None:
            return None
        batch, builder = seat.batch, seat.builder
        used_bytes = builder.records_bytes
        if used_bytes + size_bytes * seat.weight >= seat.end_bytes or batch.state is not _OPEN:
            return None
        if seat.used_at_ms != now_ms:
            self._metadata.add(topic, now_ms)
            seat.used_at_ms = now_ms
        index = seat.append(timestamp_ms, key, value)
        if callback is not None:
            batch.callbacks.append((index, timestamp_ms, callback))
        if partition is None:
            self._appended(topic, key, builder.records_bytes - used_bytes)
        return self._new_delivery(timestamp_ms, batch, index, None, self._owner)

    def _seat_of(self, topic: str, key: bytes | None, partition: int | None) -> Seat | None:
        """The seat in a named partition, or in the one of a key."""
        if not (key is None or type(key) is bytes):
            return None
        if partition is None:
            known = self.topics.get(topic)
            if known is None or not self._chooses:
                return None
            partition = self._partitioner.at_once(topic, known, key)
        return self._seats.get((topic, partition))

    def leave(self, batch: ProducerBatch, now_ms: int, *, keyless: bool) -> None:
        """A record went the whole way into ``batch``; ``keyless``: it had neither key nor partition."""
        topic, partition = batch.partition
        if batch.grant is None:
            return
        # On the wire the new record weighs more than those before it; to let it weigh more in all is the safe side.
        bounds = [batch.limit_bytes / batch.growth, batch.grant.size_bytes + 1, self._most_bytes + 1]
        if keyless:
            known = self._metadata.topics[topic]
            if not self._chooses or partition != self._partitioner.at_once(topic, known, None):
                return
            bounds.append(batch.builder.size_bytes + self._partitioner.bytes_left(topic))
        self._seats[topic if keyless else batch.partition] = Seat(
            batch,
            batch.builder.append,
            batch.builder,
            1 if batch.growth >= 1 else 1 / batch.growth,
            min(bounds) - BATCH_OVERHEAD_BYTES,
            now_ms,
        )

    def vacate(self, batch: ProducerBatch) -> None:
        """A batch has ended: nobody sits there any more."""
        for key in (batch.partition, batch.partition[0]):
            seat = self._seats.get(key)
            if seat is not None and seat.batch is batch:
                del self._seats[key]

    def clear(self) -> None:
        """Anything may be different now."""
        self.topics = self._metadata.topics
        self._seats.clear()
