"""ProducerBatch: records of one partition that live and die together.

All work is the batch's: its bytes are encoded once and sent again unchanged (only an epoch bump restamps them), its
result is every record's result. A batch takes exactly one final state of the BATCH table; a result that comes later
is known to be late and ignored (PRD-FIN-01, -02).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clients.reference.buffer_pool import Grant
from clients.reference.errors import SendError
from clients.reference.metadata import TopicPartition
from clients.reference.states import BATCH, BatchEvent, BatchState
from clients.reference.trace import StateChanged, Trace
from harness.outcome import Outcome
from harness.wire.error_table import KafkaError
from harness.wire.records import BatchBuilder, increment_sequence, restamp

NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_SEQUENCE = -1
Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where a record was stored; ``offset`` is -1 where the broker did not say (acks=0, PRD-SND-01)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


Callback = Callable[[RecordMetadata | None, SendError | None], None]


@dataclass(frozen=True, slots=True)
class ProducerId:
    """The identity that makes a sequence number meaningful (KIP-98)."""

    id: int = -1
    epoch: int = -1

    @property
    def is_valid(self) -> bool:
        return self.id >= 0


NO_PRODUCER_ID = ProducerId()


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The end of a batch: an offset and a timestamp rule, or an error; single records may have their own."""

    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    error: SendError | None = None
    record_errors: dict[int, SendError] | None = None

    def error_of(self, index: int) -> SendError | None:
        return (self.record_errors or {}).get(index, self.error)

    def offset_of(self, index: int) -> int:
        return self.base_offset + index if self.base_offset >= 0 else NO_OFFSET


class ProducerBatch:
    """An open batch takes records; a closed one is bytes with a producer id, an epoch and a base sequence."""

    def __init__(
        self,
        partition: TopicPartition,
        number: int,
        builder: BatchBuilder,
        grant: Grant,
        delivery_timeout_ms: int,
        now_ms: int,
        trace: Trace,
    ) -> None:
        self.partition = partition
        self.number = number  # batches of a partition are numbered in the order of their records
        self.name = f"{partition[0]}-{partition[1]}#{number}"
        self.created_ms = now_ms
        self.expires_ms = now_ms + delivery_timeout_ms
        self.grant = grant
        self.attempts = 0  # how many attempts have failed
        self.retry_at_ms = now_ms
        self.was_sent = False  # an attempt reached a socket
        self.has_unknown_attempt = False  # an attempt ended without the broker's word on it
        self.may_be_stored = False  # ... and no later one was told that the batch is not there
        self.on_the_wire = False  # the request that holds it has no end yet
        self.state = BATCH.initial
        self.producer_id = NO_PRODUCER_ID
        self.base_sequence = NO_SEQUENCE
        self.sequence_was_reset = False
        self.result: BatchResult | None = None
        self.is_published = False  # the callbacks have run
        self.record_count = 0
        self.size_bytes = builder.size_bytes  # on the wire once closed, before that without compression
        self.callbacks: list[tuple[int, int, Callback]] = []
        self._builder = builder
        self._payload = b""
        self._trace = trace

    # records

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
    ) -> int:
        """Add a record to an open batch; gives its index."""
        index = self._builder.append(timestamp_ms, key, value, headers)
        self.record_count = index + 1
        self.size_bytes = self._builder.size_bytes
        if callback:
            self.callbacks.append((index, timestamp_ms, callback))
        return index

    # bytes and sequence

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    def assign_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Before the first attempt: the identity that all attempts carry (PRD-IDM-03)."""
        self.producer_id, self.base_sequence = producer_id, base_sequence

    def restart_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """After an epoch bump: the same records under a new identity (KIP-360)."""
        self.assign_sequence(producer_id, base_sequence)
        self.sequence_was_reset = True
        if self._payload:
            self._payload = restamp(self._payload, producer_id.id, producer_id.epoch, base_sequence)

    def payload(self) -> bytes:
        """The record batch as it goes to the broker: encoded once, the same bytes at each attempt (PRD-SND-02)."""
        if not self._payload:
            self._payload = self._builder.build(
                producer_id=self.producer_id.id,
                producer_epoch=self.producer_id.epoch,
                base_sequence=self.base_sequence,
            )
            self.size_bytes = len(self._payload)
            self._builder = BatchBuilder(self._builder.codec)  # the records are in the payload now
        return self._payload

    @property
    def last_sequence(self) -> int:
        return increment_sequence(self.base_sequence, self.record_count - 1)

    # life

    @property
    def is_done(self) -> bool:
        return self.state.is_final

    def has_expired(self, now_ms: int) -> bool:
        """PRD-EXP-01: the limit counts from the batch's creation, linger and retries included."""
        return now_ms >= self.expires_ms

    def outcome_of(self, error: KafkaError) -> Outcome:
        """What a failure with this error says about the records (``error`` ended the last attempt, if any).

        They are certainly not stored if no attempt reached a socket, or if every attempt was refused by the
        broker with an error that the error table calls definite.
        """
        refused = not self.was_sent or error.produced == "definite"
        return Outcome.FAIL if refused and not self.is_in_doubt else Outcome.INFO

    @property
    def is_in_doubt(self) -> bool:
        """Some attempt is unanswered, or ended without the broker saying that it stored nothing."""
        return self.on_the_wire or self.has_unknown_attempt

    def attempt_ended(self, error: KafkaError, *, tells_absence: bool = False) -> None:
        """An attempt failed and another may follow; ``tells_absence``: the broker looked, and has none of it."""
        if error.produced != "definite":
            self.has_unknown_attempt = True
            self.may_be_stored = True
        if tells_absence:
            self.may_be_stored = False

    def close(self, now_ms: int) -> None:
        if self.state is BatchState.OPEN:
            self._move(BatchEvent.CLOSE, now_ms)

    def drained(self, now_ms: int) -> None:
        self.close(now_ms)
        self._move(BatchEvent.DRAIN, now_ms)

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        self._move(BatchEvent.REENQUEUE, now_ms)
        self.attempts += 1
        self.retry_at_ms = retry_at_ms

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        """True where this is the batch's end, False where the batch had failed before (a late success)."""
        return self._finish(BatchEvent.SUCCEED, BatchResult(base_offset, log_append_time_ms), now_ms)

    def fail(self, error: SendError, now_ms: int, record_errors: dict[int, SendError] | None = None) -> bool:
        return self._finish(BatchEvent.FAIL, BatchResult(error=error, record_errors=record_errors), now_ms)

    def abort(self, error: SendError, now_ms: int) -> None:
        self._finish(BatchEvent.ABORT, BatchResult(error=error), now_ms)

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        """Run the records' callbacks, in send order, each exactly once (PRD-SND-13)."""
        for index, timestamp_ms, callback in self.callbacks:
            try:
                error = self.error_of(index)
                callback(None if error else self.metadata_of(index, timestamp_ms), error)
            except Exception as raised:
                misbehaved(raised)
        self.callbacks.clear()
        self.is_published = True

    def error_of(self, index: int) -> SendError | None:
        return self.result.error_of(index) if self.result else None

    def metadata_of(self, index: int, timestamp_ms: int) -> RecordMetadata:
        """A record's place; with LogAppendTime the broker's timestamp replaces the record's (PRD-ISP-09)."""
        result = self.result or BatchResult()
        appended_ms = result.log_append_time_ms
        return RecordMetadata(
            *self.partition,
            offset=result.offset_of(index),
            timestamp_ms=timestamp_ms if appended_ms == NO_TIMESTAMP else appended_ms,
        )

    def _finish(self, event: BatchEvent, result: BatchResult, now_ms: int) -> bool:
        was_final = self.state.is_final
        self._move(event, now_ms, detail=result.error.name if result.error else "")
        if was_final:
            return False
        self.result = result
        return True

    def _move(self, event: BatchEvent, now_ms: int, detail: str = "") -> None:
        before = self.state
        self.state = BATCH.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=BATCH.name,
                subject=self.name,
                before=before.value,
                cause=event.value,
                after=self.state.value,
                detail=detail,
            )
        )
