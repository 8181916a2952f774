"""What a coordinator stores of a transactional id, and how each move changes it (``TransactionMetadata``).

Under transaction version 2 (KIP-890), the epoch grows with the end of each transaction, so that a late batch of the one
before is recognized by its epoch. Under the earlier ones it grows only with InitProducerId, and when a producer is
fenced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.producer_state import BUMPS_FROM_VERSION
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.transactions.states import AT_REST, PREPARED, PREVIOUS, TransactionState
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

TopicPartition = tuple[str, int]
#: The last epoch that a producer is given. The one after it remains for fencing.
LAST_EPOCH: Final = 2**15 - 2
_MAX_EPOCH: Final = 2**15 - 1
_NEVER: Final = -1


@dataclass(slots=True)
class TransactionMetadata:
    """A transactional id. ``moves`` are the states that it had, oldest first.

    ``version`` is the transaction version of the request that began the last move. ``next_producer_id`` replaces the
    producer id at the end of the transaction, because the epochs are exhausted.
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    updated_at_ms: int
    state: TransactionState = TransactionState.EMPTY
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    partitions: set[TopicPartition] = field(default_factory=set)
    started_at_ms: int = _NEVER
    version: int = 0
    moves: list[TransactionState] = field(default_factory=lambda: [TransactionState.EMPTY])

    @property
    def is_pending(self) -> bool:
        """True while markers are being written: the move to a Complete state has begun."""
        return self.state in PREPARED

    @property
    def is_exhausted(self) -> bool:
        """True if no further epoch may be given to a producer."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def commits(self) -> bool:
        """True if the transaction is being committed."""
        return self.state is TransactionState.PREPARE_COMMIT

    @property
    def final(self) -> tuple[int, int]:
        """The producer id and epoch after the end of the transaction whose markers are being written."""
        if self.version >= BUMPS_FROM_VERSION and self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def move_to(self, state: TransactionState, now_ms: int) -> None:
        """Change the state. Raises AssertionError for a move that Kafka does not know."""
        assert self.state in PREVIOUS[state], f"{self.state} -> {state}"
        self.state, self.updated_at_ms = state, now_ms
        self.previous_producer_id = self.producer_id
        self.moves.append(state)

    def is_valid_producer(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer that already has an id may continue with this transactional id (KIP-360)."""
        is_rotated = producer_id == self.previous_producer_id and epoch >= LAST_EPOCH
        return self.producer_epoch == NO_PRODUCER_EPOCH or producer_id == self.producer_id or is_rotated

    def increment_epoch(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> None:
        """Give the producer the next epoch, or the current one again if it retries. Raises RequestRefused."""
        if self.is_exhausted:
            raise RequestRefused(ErrorCode.unknown_server_error)  # Kafka's coordinator fails
        current, last = self.producer_epoch, self.last_producer_epoch
        if expected_epoch is None:
            epochs = current + 1, NO_PRODUCER_EPOCH
        elif current in (NO_PRODUCER_EPOCH, expected_epoch):
            epochs = current + 1, current
        elif expected_epoch == last:
            epochs = current, last
        else:
            raise RequestRefused(ErrorCode.producer_fenced)
        self._begin(timeout_ms, now_ms)
        self.producer_epoch, self.last_producer_epoch = epochs

    def rotate(self, producer_id: int, timeout_ms: int, now_ms: int, *, keeps_last: bool) -> None:
        """Give the producer a new id, because the epochs of the old one are exhausted."""
        last = self.producer_epoch if keeps_last else NO_PRODUCER_EPOCH
        self._begin(timeout_ms, now_ms)
        self.producer_id, self.producer_epoch, self.last_producer_epoch = producer_id, 0, last

    def _begin(self, timeout_ms: int, now_ms: int) -> None:
        self.move_to(TransactionState.EMPTY, now_ms)
        self.timeout_ms, self.started_at_ms = timeout_ms, _NEVER
        self.partitions = set()

    def add(self, partitions: set[TopicPartition], version: int, now_ms: int) -> None:
        """Add partitions to the transaction, or begin one with them."""
        if self.state in AT_REST:
            self.started_at_ms = now_ms
        self.move_to(TransactionState.ONGOING, now_ms)
        self.partitions |= partitions
        self.version = version

    def fence(self, version: int, now_ms: int) -> None:
        """Begin to abort the transaction of a producer that is replaced or too slow. No producer gets its new epoch."""
        self.move_to(TransactionState.PREPARE_EPOCH_FENCE, now_ms)
        if version < BUMPS_FROM_VERSION:
            self.producer_epoch = min(self.producer_epoch + 1, _MAX_EPOCH)
            self.last_producer_epoch = NO_PRODUCER_EPOCH
        self.prepare(version, NO_PRODUCER_ID, now_ms, commits=False)

    def prepare(self, version: int, next_producer_id: int, now_ms: int, *, commits: bool) -> None:
        """Decide how the transaction ends."""
        if self.state in AT_REST:
            self.started_at_ms = now_ms
        self.move_to(TransactionState.PREPARE_COMMIT if commits else TransactionState.PREPARE_ABORT, now_ms)
        if version >= BUMPS_FROM_VERSION:
            self.last_producer_epoch = self.producer_epoch
            self.producer_epoch = min(self.producer_epoch + 1, _MAX_EPOCH)
        self.next_producer_id, self.version = next_producer_id, version

    def complete(self, now_ms: int) -> None:
        """End the transaction, whose markers are all written."""
        producer = self.final
        self.move_to(
            TransactionState.COMPLETE_COMMIT if self.commits else TransactionState.COMPLETE_ABORT, now_ms
        )
        self.producer_id, self.producer_epoch = producer
        self.next_producer_id = NO_PRODUCER_ID
        self.partitions = set()
