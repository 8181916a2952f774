"""ProducerBatch: records of one partition that succeed or fail together.

The batch does all work: its bytes are encoded once and are the same in each attempt (only the identity is stamped on
them), and its result is every record's result. A batch takes exactly one final state of the BATCH table. A result that
arrives later is recognized as late and ignored (PRD-FIN-01, -02). A split batch has no result, but its parts do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from clients.reference.errors import SendError
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.buffer_pool import Grant
from clients.reference.states import BATCH, BatchEvent, BatchState
from clients.reference.telemetry.trace import BatchClosed, BatchEnded, StateChanged, Trace
from harness.model.verdicts import Outcome
from harness.wire.error_table import KafkaError
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder, increment_sequence, restamp

NO_PARTITION = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_SEQUENCE = -1
NO_EPOCH = -1
Headers = Sequence[tuple[str, bytes | None]]
Order = tuple[int, ...]
"""A batch's position in its partition: its number, then for a part its position in the whole, and so on."""
_NO_RECORDS = BatchBuilder()


class RecordMetadata(msgspec.Struct, frozen=True, gc=False):
    """Where a record was stored. ``offset`` is -1 if the broker did not report it (acks=0, PRD-SND-01).

    It holds text and numbers and no cycles, so the garbage collector ignores it.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


Callback = Callable[[RecordMetadata, SendError | None], None]
"""Receives a record's metadata, and the error of a record that was not acknowledged (``nowhere``)."""


def nowhere(topic: str, partition: int | None) -> RecordMetadata:
    """Return the metadata of a record that failed: offset and timestamp are -1, and the partition if it is unknown."""
    return RecordMetadata(topic, NO_PARTITION if partition is None else partition, NO_OFFSET, NO_TIMESTAMP)


@dataclass(frozen=True, slots=True)
class ProducerId:
    """The producer id and epoch to which sequence numbers belong (KIP-98)."""

    id: int = -1
    epoch: int = -1

    @property
    def is_valid(self) -> bool:
        """False until a broker has assigned one."""
        return self.id >= 0


NO_PRODUCER_ID = ProducerId()


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: an offset and a timestamp rule, or an error. Single records may have their own errors."""

    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    error: SendError | None = None
    record_errors: dict[int, SendError] | None = None

    def error_of(self, index: int) -> SendError | None:
        """Return the record's own error, or else the batch's. None if the record was stored."""
        return (self.record_errors or {}).get(index, self.error)

    def offset_of(self, index: int) -> int:
        """Return the record's offset. NO_OFFSET if the broker did not report it."""
        return self.base_offset + index if self.base_offset >= 0 else NO_OFFSET


class ProducerBatch:
    """An open batch accepts records. A closed one is bytes with a producer id, an epoch and a base sequence.

    ``limit_bytes`` is its maximum size on the wire. ``growth`` is the expected number of bytes on the wire per byte of
    records (below 1 with compression). ``grant`` is the memory that it holds (None for a part).
    ``is_transactional`` is written into the encoded batch.
    """

    is_transactional = False

    def __init__(
        self,
        partition: TopicPartition,
        number: int,
        builder: BatchBuilder,
        grant: Grant | None,
        delivery_timeout_ms: int,
        now_ms: int,
        trace: Trace,
        limit_bytes: int = 0,
        growth: float = 1.0,
    ) -> None:
        self.partition = partition
        self.order: Order = (number,)
        self.name = f"{partition[0]}-{partition[1]}#{number}"
        self.created_ms = now_ms
        self.expires_ms = now_ms + delivery_timeout_ms
        self.drained_ms = now_ms
        self.builder = builder
        self.grant = grant
        self.limit_bytes = limit_bytes
        self.growth = growth
        self.own_growth = max(growth, 1.0)  # for the record that is added last, assumed not to shrink
        self.attempts = 0  # the number of failed attempts
        self.retry_at_ms = now_ms
        self.topic_id: UUID | None = None  # of the last attempt, None if that used the name
        self.leader_epoch = NO_EPOCH  # of the leader that received the last attempt
        self.goes_again = False  # it is retried under the same sequence numbers, or is a part of such a batch
        self.was_sent = False  # an attempt was passed to a socket
        self.has_unknown_attempt = False  # an attempt ended without a definite answer of the broker
        self.may_be_stored = False  # ... and no later answer said that the batch is absent
        self.doubt_is_the_wholes = False  # ... and the doubt is about the batch of which this is a part
        self.on_the_wire = False  # the request that contains it has not completed
        self.state = BATCH.initial
        self.producer_id = NO_PRODUCER_ID
        self.base_sequence = NO_SEQUENCE
        self.sequence_was_reset = False
        self.result: BatchResult | None = None
        self.parts: list[
            tuple[int, ProducerBatch]
        ] = []  # after a split, each part with the index of its first record
        self.callbacks: list[tuple[int, int, Callback]] = []
        self.uncompressed_bytes = 0  # set once the batch is encoded
        self._record_count = 0
        self._payload = b""
        self._stamp = NO_PRODUCER_ID, NO_SEQUENCE
        self._is_published = False
        self._trace = trace

    # Records

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
    ) -> int:
        """Add a record to an open batch. Return its index."""
        index = self.builder.append(timestamp_ms, key, value, headers)
        if callback is not None:
            self.callbacks.append((index, timestamp_ms, callback))
        return index

    @property
    def record_count(self) -> int:
        """The number of records, so far if the batch is open. Encoding and splitting do not change it."""
        return self._record_count or self.builder.record_count

    @property
    def size_bytes(self) -> int:
        """The size on the wire, estimated until the batch is encoded (PRD-SPL-05)."""
        return len(self._payload) or int(self.builder.size_bytes * self.growth)

    def has_room(self, size_bytes: int) -> bool:
        """Return whether a record of this size fits. Its own compression is not taken into account, as in Java."""
        return self.state is BatchState.OPEN and self.size_bytes + size_bytes <= self.limit_bytes

    @property
    def is_full(self) -> bool:
        """Whether no more records should be added: the batch is closed, or at its limit by the estimate."""
        return self.state is not BatchState.OPEN or self.size_bytes >= self.limit_bytes

    # Bytes and sequence

    @property
    def has_sequence(self) -> bool:
        """Whether a sequence is assigned. Always False for a producer that is not idempotent."""
        return self.base_sequence != NO_SEQUENCE

    def assign_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Set the identity that all attempts carry, before the first attempt (PRD-IDM-03)."""
        self.producer_id, self.base_sequence = producer_id, base_sequence
        if self._payload and self._stamp != (producer_id, base_sequence):
            self._payload = restamp(self._payload, producer_id.id, producer_id.epoch, base_sequence)
            self._stamp = producer_id, base_sequence

    def restart_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Give the same records a new identity, after an epoch bump (KIP-360)."""
        self.assign_sequence(producer_id, base_sequence)
        self.sequence_was_reset = self.goes_again = True

    def payload(self) -> bytes:
        """Return the encoded record batch, the same bytes at each attempt (PRD-SND-02)."""
        if not self._payload:
            self.encode(self.producer_id, self.base_sequence)
        return self._payload

    def encode(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Encode the batch, once, with the identity that it would get now. A later change is stamped on the bytes."""
        self._record_count = self.builder.record_count
        self.uncompressed_bytes = self.builder.size_bytes
        self._payload = self.builder.build(
            producer_id=producer_id.id,
            producer_epoch=producer_id.epoch,
            base_sequence=base_sequence,
            transactional=self.is_transactional,
        )
        self._stamp = producer_id, base_sequence
        self.builder = _NO_RECORDS

    @property
    def compression_ratio(self) -> float:
        """Bytes on the wire per byte of records, once the batch is encoded."""
        records = self.uncompressed_bytes - BATCH_OVERHEAD_BYTES
        return (len(self._payload) - BATCH_OVERHEAD_BYTES) / records if records > 0 else 1.0

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, wrapping to 0 after 2147483647 (PRD-IDM-02). Needs a sequence."""
        return increment_sequence(self.base_sequence, self.record_count - 1)

    # Lifecycle

    @property
    def is_done(self) -> bool:
        """Whether the batch has a final state (PRD-FIN-01), published or not. Never for a split batch."""
        return self.state.is_final

    @property
    def is_published(self) -> bool:
        """Whether the callbacks have run. For a split batch, those of all its parts (PRD-SPL-06)."""
        return all(part.is_published for _, part in self.parts) if self.parts else self._is_published

    def has_expired(self, now_ms: int) -> bool:
        """Return whether delivery.timeout.ms has passed since creation, including linger and retries (PRD-EXP-01)."""
        return now_ms >= self.expires_ms

    def backs_off_until(self, leader_epoch: int) -> int | None:
        """Return when a retry may be sent. None if it need not wait.

        There is no backoff if the leader is newer than the one that rejected the batch (MET-09, KIP-951).
        """
        newer = 0 <= self.leader_epoch < leader_epoch
        return self.retry_at_ms if self.attempts and not newer else None

    def outcome_of(self, error: KafkaError) -> Outcome:
        """Return what is known of the records after ``error`` (which ended the last attempt, if there was one).

        They are certainly not stored if no attempt was passed to a socket, or if the broker rejected every attempt
        with an error that the error table calls definite.
        """
        refused = not self.was_sent or error.produced == "definite"
        return Outcome.FAIL if refused and not self.is_in_doubt else Outcome.INFO

    @property
    def is_in_doubt(self) -> bool:
        """Whether some attempt is unanswered, or ended without the broker reporting that it stored nothing."""
        return self.on_the_wire or self.has_unknown_attempt

    def attempt_ended(self, error: KafkaError, *, tells_absence: bool = False) -> None:
        """Record a failed attempt that another may follow. ``tells_absence``: the broker reported the batch absent.

        A broker cannot report that for a part: if the whole was stored, it has sequence numbers that only the whole
        has.
        """
        if error.produced != "definite":
            self.has_unknown_attempt = True
            self.may_be_stored = True
        if tells_absence:
            self.may_be_stored = self.doubt_is_the_wholes

    def close(self, now_ms: int, reason: str = "drained") -> None:
        """Accept no more records. ``reason`` is for the trace."""
        if self.state is BatchState.OPEN:
            self._move(BatchEvent.CLOSE, now_ms, reason)
            self._trace(
                BatchClosed(
                    at_ms=now_ms,
                    batch=self.name,
                    reason=reason,
                    record_count=self.record_count,
                    uncompressed_bytes=self.builder.size_bytes,
                )
            )

    def drained(self, now_ms: int) -> None:
        """Record that the batch moved from its queue into a request. An open batch is closed first."""
        self.close(now_ms)
        self.drained_ms = now_ms
        self._move(BatchEvent.DRAIN, now_ms)

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        """Record a failed attempt. The batch returns to its queue and is not sent before ``retry_at_ms``."""
        self._move(BatchEvent.REENQUEUE, now_ms)
        self.attempts += 1
        self.goes_again = True
        self.retry_at_ms = retry_at_ms

    def was_split(self, parts: list[ProducerBatch], now_ms: int) -> None:
        """Move the records to ``parts``, in this order, with their callbacks (PRD-SPL-01)."""
        self._move(BatchEvent.SPLIT, now_ms)
        first = 0
        for part in parts:
            self.parts.append((first, part))
            end = first + part.record_count
            part.callbacks = [
                (index - first, at_ms, callback)
                for index, at_ms, callback in self.callbacks
                if first <= index < end
            ]
            first = end
        self.callbacks = []
        self._payload = b""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        """Record success. Return False if the batch had failed before (a late success)."""
        return self._finish(BatchEvent.SUCCEED, BatchResult(base_offset, log_append_time_ms), now_ms)

    def fail(self, error: SendError, now_ms: int, record_errors: dict[int, SendError] | None = None) -> bool:
        """Record failure, like ``succeed``. ``record_errors``, by index, override ``error`` for single records."""
        return self._finish(BatchEvent.FAIL, BatchResult(error=error, record_errors=record_errors), now_ms)

    def abort(self, error: SendError, now_ms: int) -> None:
        """End the batch on the client's decision. Raise IllegalTransition if it has ended already (PRD-FIN-03)."""
        self._finish(BatchEvent.ABORT, BatchResult(error=error), now_ms)

    def publish(self, misbehaved: Callable[[Exception], None]) -> None:
        """Run the records' callbacks, in send order, each exactly once (PRD-SND-13)."""
        result = self.result or BatchResult()
        topic, partition = self.partition
        offset = result.base_offset
        is_plain = offset >= 0 and result.log_append_time_ms == NO_TIMESTAMP
        is_plain = is_plain and result.error is None and not result.record_errors
        for index, timestamp_ms, callback in self.callbacks:
            try:
                if is_plain:  # inlined, because it runs for every record
                    callback(RecordMetadata(topic, partition, offset + index, timestamp_ms), None)
                else:
                    error = result.error_of(index)
                    place = nowhere(topic, partition) if error else self.metadata_of(index, timestamp_ms)
                    callback(place, error)
            except Exception as raised:
                misbehaved(raised)
        self.callbacks.clear()
        self._is_published = True

    def error_of(self, index: int) -> SendError | None:
        """Return the record's error. None if it was stored, or if there is no result."""
        return self.result.error_of(index) if self.result else None

    def metadata_of(self, index: int, timestamp_ms: int) -> RecordMetadata:
        """Return the record's metadata. With LogAppendTime, the broker's timestamp replaces its own (PRD-ISP-09)."""
        result = self.result or BatchResult()
        appended_ms = result.log_append_time_ms
        return RecordMetadata(
            *self.partition,
            offset=result.offset_of(index),
            timestamp_ms=timestamp_ms if appended_ms == NO_TIMESTAMP else appended_ms,
        )

    def _finish(self, event: BatchEvent, result: BatchResult, now_ms: int) -> bool:
        was_final = self.state.is_final
        error = result.error.name if result.error else ""
        self._move(event, now_ms, detail=error)
        if was_final:
            return False
        self.result = result
        self._trace(BatchEnded(at_ms=now_ms, batch=self.name, record_count=self.record_count, error=error))
        return True

    def _move(self, event: BatchEvent, now_ms: int, detail: str = "") -> None:
        before = self.state
        self.state = BATCH.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=BATCH.name,
                subject=self.name,
                before=before.told,
                cause=event.told,
                after=self.state.told,
                detail=detail,
            )
        )
