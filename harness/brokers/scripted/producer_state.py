"""A partition's memory of each idempotent producer, and which batch it therefore accepts next.

For each producer id, the last five batches of its current epoch are kept (``ProducerStateEntry``). A new batch is
compared with them. It is a duplicate (PRD-IDM-05), from an old epoch, the first of a new epoch (PRD-IDM-14), the next
in order, or out of order. If the producer is new or was forgotten, any sequence is accepted (PRD-IDM-15).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import RequestRefused
from harness.wire.records import NO_PRODUCER_EPOCH, NO_SEQUENCE, increment_sequence

BATCHES_TO_RETAIN: Final = 5


class BatchMetadata(NamedTuple):
    """One remembered batch: its sequences, its offsets, and its maximum timestamp."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp_ms: int


class ProducerStateEntry:
    """One producer id in one partition."""

    __slots__ = ("appended_at_ms", "batches", "producer_epoch")

    def __init__(self) -> None:
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_TO_RETAIN)
        #: The broker's time of the last append, from which the entry's expiration counts.
        self.appended_at_ms = 0

    @property
    def last_sequence(self) -> int:
        """The last sequence, or NO_SEQUENCE if no batch of this epoch is remembered."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def find_duplicate(self, epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """Return the remembered batch with the same sequences, of which this one is a duplicate, or None."""
        if epoch != self.producer_epoch:
            return None
        for batch in self.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check(self, epoch: int, first_sequence: int) -> None:
        """Raise Refused for an old epoch, or for a sequence that is not the next one."""
        if epoch < self.producer_epoch:
            raise RequestRefused(ErrorCode.invalid_producer_epoch)
        if self.producer_epoch == NO_PRODUCER_EPOCH:
            return
        due = 0 if epoch != self.producer_epoch else increment_sequence(self.last_sequence, 1)
        if first_sequence != due:
            raise RequestRefused(ErrorCode.out_of_order_sequence_number)

    def add(self, epoch: int, batch: BatchMetadata, now_ms: int) -> None:
        """Remember an appended batch. A new epoch clears the earlier batches."""
        if epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = epoch
        self.batches.append(batch)
        self.appended_at_ms = now_ms


@dataclass(slots=True)
class ProducerStateManager:
    """All producers of a partition. An entry expires ``expiration_ms`` after its last append.

    A real broker looks for expired entries every ``producer.id.expiration.check.interval.ms`` and uses the records' own
    timestamps. Here an entry expires exactly on time, by the broker's clock.
    """

    expiration_ms: int
    producers: dict[int, ProducerStateEntry]

    def entry(self, producer_id: int, now_ms: int) -> ProducerStateEntry:
        """Return the entry of a producer for an append at ``now_ms``. It is empty if nothing is known."""
        found = self.producers.get(producer_id)
        if found is None or now_ms - found.appended_at_ms >= self.expiration_ms:
            found = self.producers[producer_id] = ProducerStateEntry()
            found.appended_at_ms = now_ms
        return found

    def expire_all(self) -> None:
        """Forget every producer, as if each had been idle for long enough."""
        self.producers.clear()
