"""A partition's memory of each idempotent producer, and which batch it therefore accepts next.

For each producer id, the last five batches of its current epoch are kept (``ProducerStateEntry``). A new batch is
compared with them. It is a duplicate (PRD-IDM-05), from an old epoch, the first of a new epoch (PRD-IDM-14), the next
in order, or out of order. If the producer is new or was forgotten, any sequence is accepted (PRD-IDM-15).

Before the first batch of a transaction, the broker asks the coordinator about it (``VerificationStateEntry``, KIP-890).
Until one is appended, the partition remembers the lowest sequence that was asked about, and accepts none above it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import RequestRefused
from harness.wire.records import NO_PRODUCER_EPOCH, NO_SEQUENCE, increment_sequence

BATCHES_TO_RETAIN: Final = 5
#: From this ``transaction.version`` on, the end of a transaction bumps the epoch.
BUMPS_FROM_VERSION: Final = 2


class BatchMetadata(NamedTuple):
    """One remembered batch: its sequences, its offsets, and its maximum timestamp."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp_ms: int


@dataclass(slots=True)
class Verification:
    """What is remembered until the first batch of a transaction is appended. ``adds`` is from Produce 12 on."""

    lowest_sequence: int
    producer_epoch: int
    adds: bool


class ProducerStateEntry:
    """One producer id in one partition. ``in_transaction`` is true from its first batch to its end marker."""

    __slots__ = ("appended_at_ms", "batches", "in_transaction", "producer_epoch")

    def __init__(self) -> None:
        self.in_transaction = False
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

    def begin_transaction(self, epoch: int) -> None:
        """Note records of a transaction that have no sequences: offsets. Raises Refused for an old epoch."""
        if epoch < self.producer_epoch:
            raise RequestRefused(ErrorCode.invalid_producer_epoch)
        self.producer_epoch, self.in_transaction = epoch, True

    def check_marker(self, epoch: int, version: int) -> None:
        """Raise Refused for an end marker of an old epoch. From ``transaction.version`` 2 on it has to be a new one.

        It may be repeated when the transaction has ended.
        """
        is_new = epoch > self.producer_epoch or (epoch == self.producer_epoch and not self.in_transaction)
        if epoch < self.producer_epoch or (version >= BUMPS_FROM_VERSION and not is_new):
            raise RequestRefused(ErrorCode.invalid_producer_epoch)

    def end_transaction(self, epoch: int, now_ms: int) -> None:
        """Note an end marker. A new epoch clears the batches before it."""
        if epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = epoch
        self.in_transaction, self.appended_at_ms = False, now_ms


@dataclass(slots=True)
class ProducerStateManager:
    """All producers of a partition. An entry expires ``expiration_ms`` after its last append.

    A real broker looks for expired entries every ``producer.id.expiration.check.interval.ms`` and uses the records' own
    timestamps. Here an entry expires exactly on time, by the broker's clock. An open transaction keeps it.
    """

    expiration_ms: int
    producers: dict[int, ProducerStateEntry]
    verifications: dict[int, Verification] = field(default_factory=dict)

    def entry(self, producer_id: int, now_ms: int) -> ProducerStateEntry:
        """Return the entry of a producer for an append at ``now_ms``. It is empty if nothing is known."""
        found = self.producers.get(producer_id)
        is_old = found is not None and now_ms - found.appended_at_ms >= self.expiration_ms
        if found is None or (is_old and not found.in_transaction):
            found = self.producers[producer_id] = ProducerStateEntry()
            found.appended_at_ms = now_ms
        return found

    def expire_all(self) -> None:
        """Forget every producer without an open transaction, as if each had been idle for long enough."""
        for producer_id, entry in tuple(self.producers.items()):
            if not entry.in_transaction:
                del self.producers[producer_id]

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, *, adds: bool, by_epoch: bool = True
    ) -> bool:
        """Return whether the coordinator has to be asked before a batch of a transaction may be appended.

        With ``by_epoch``, it raises Refused for an old epoch, and a new one is not that of the open transaction.
        """
        entry = self.producers.get(producer_id)
        if by_epoch and entry is not None and epoch < entry.producer_epoch:
            raise RequestRefused(ErrorCode.invalid_producer_epoch)
        if entry is not None and entry.in_transaction and (entry.producer_epoch == epoch or not by_epoch):
            return False
        known = self.verifications.setdefault(producer_id, Verification(sequence, epoch, adds))
        if epoch > known.producer_epoch:
            known.producer_epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.producer_epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return True

    def check_verified(self, producer_id: int, entry: ProducerStateEntry, first_sequence: int) -> None:
        """Raise Refused if batches before this one have been asked about. One that adds its partition begins at 0."""
        known = self.verifications.get(producer_id)
        if known is None:
            return
        is_late = known.adds and not entry.batches and first_sequence != 0
        if is_late or first_sequence > known.lowest_sequence:
            raise RequestRefused(ErrorCode.out_of_order_sequence_number)

    def end_verification(self, producer_id: int, marker_epoch: int | None = None) -> None:
        """Forget what was asked, because a batch or an end marker was appended.

        A marker may come after the question about the next transaction, which then stays.
        """
        known = self.verifications.get(producer_id)
        is_next = known is not None and known.adds and known.producer_epoch == marker_epoch
        if known is not None and not is_next:
            del self.verifications[producer_id]
