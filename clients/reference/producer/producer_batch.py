"""ProducerBatch: records of one partition that live and die together.

All work is the batch's: its bytes are encoded once and sent again unchanged (only its identity is stamped on them),
its result is every record's result. A batch takes exactly one final state of the BATCH table; a result that comes
later is known to be late and ignored (PRD-FIN-01, -02). A batch that was split has no result: its parts have.
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

NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_SEQUENCE = -1
NO_EPOCH = -1
Headers = Sequence[tuple[str, bytes | None]]
Order = tuple[int, ...]
"""A batch's place among those of its partition: its number, and for a part its place in the whole, and so on."""
_NO_RECORDS = BatchBuilder()


class RecordMetadata(msgspec.Struct, frozen=True, gc=False):
    """Where a record was stored; ``offset`` is -1 where the broker did not say (acks=0, PRD-SND-01).

    Text and numbers make no cycles, so the garbage collector need not follow them.
    """

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
        """False until a broker gave one."""
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
        """The record's own error, else the batch's; None where it was stored."""
        return (self.record_errors or {}).get(index, self.error)

    def offset_of(self, index: int) -> int:
        """NO_OFFSET where the broker did not say."""
        return self.base_offset + index if self.base_offset >= 0 else NO_OFFSET


class ProducerBatch:
    """An open batch takes records; a closed one is bytes with a producer id, an epoch and a base sequence.

    ``limit_bytes`` is what it may become on the wire, ``growth`` how many bytes there one byte of records is
    expected to take (below 1 where they are compressed), ``grant`` the memory that it holds (None for a part).
    """

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
        self.own_growth = max(
            growth, 1.0
        )  # of the record that is added last: its compression is not counted on
        self.attempts = 0  # how many attempts have failed
        self.retry_at_ms = now_ms
        self.topic_id: UUID | None = None  # under which the last attempt went, if not by name
        self.leader_epoch = NO_EPOCH  # of the leader that the last attempt went to
        self.goes_again = (
            False  # it has its sequence numbers and was refused under them, or is a part of such a one
        )
        self.was_sent = False  # an attempt reached a socket
        self.has_unknown_attempt = False  # an attempt ended without the broker's word on it
        self.may_be_stored = False  # ... and no later one was told that the batch is not there
        self.doubt_is_the_wholes = False  # ... of a batch that this one was a part of
        self.on_the_wire = False  # the request that holds it has no end yet
        self.state = BATCH.initial
        self.producer_id = NO_PRODUCER_ID
        self.base_sequence = NO_SEQUENCE
        self.sequence_was_reset = False
        self.result: BatchResult | None = None
        self.parts: list[
            tuple[int, ProducerBatch]
        ] = []  # after a split, each with the index of its first record
        self.callbacks: list[tuple[int, int, Callback]] = []
        self.uncompressed_bytes = 0  # once it is bytes
        self._record_count = 0
        self._payload = b""
        self._stamp = NO_PRODUCER_ID, NO_SEQUENCE
        self._is_published = False
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
        index = self.builder.append(timestamp_ms, key, value, headers)
        if callback is not None:
            self.callbacks.append((index, timestamp_ms, callback))
        return index

    @property
    def record_count(self) -> int:
        """So far while it is open; unchanged by encoding and by a split."""
        return self._record_count or self.builder.record_count

    @property
    def size_bytes(self) -> int:
        """On the wire: estimated until the batch is bytes (PRD-SPL-05)."""
        return len(self._payload) or int(self.builder.size_bytes * self.growth)

    def has_room(self, size_bytes: int) -> bool:
        """May a record of this size be added? Its own compression is not counted on, as in Java."""
        return self.state is BatchState.OPEN and self.size_bytes + size_bytes <= self.limit_bytes

    @property
    def is_full(self) -> bool:
        """Nothing more should go in: closed, or at its limit by the estimate."""
        return self.state is not BatchState.OPEN or self.size_bytes >= self.limit_bytes

    # bytes and sequence

    @property
    def has_sequence(self) -> bool:
        """Always False for a producer that is not idempotent."""
        return self.base_sequence != NO_SEQUENCE

    def assign_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Before the first attempt: the identity that all attempts carry (PRD-IDM-03)."""
        self.producer_id, self.base_sequence = producer_id, base_sequence
        if self._payload and self._stamp != (producer_id, base_sequence):
            self._payload = restamp(self._payload, producer_id.id, producer_id.epoch, base_sequence)
            self._stamp = producer_id, base_sequence

    def restart_sequence(self, producer_id: ProducerId, base_sequence: int) -> None:
        """After an epoch bump: the same records under a new identity (KIP-360)."""
        self.assign_sequence(producer_id, base_sequence)
        self.sequence_was_reset = self.goes_again = True

    def payload(self) -> bytes:
        """The record batch as it goes to the broker: encoded once, the same bytes at each attempt (PRD-SND-02)."""
        if not self._payload:
            self.encode(self.producer_id, self.base_sequence)
        return self._payload

    def encode(self, producer_id: ProducerId, base_sequence: int) -> None:
        """Make it bytes, once, under the identity that it will have if it goes now; else that is stamped on later."""
        self._record_count = self.builder.record_count
        self.uncompressed_bytes = self.builder.size_bytes
        self._payload = self.builder.build(
            producer_id=producer_id.id, producer_epoch=producer_id.epoch, base_sequence=base_sequence
        )
        self._stamp = producer_id, base_sequence
        self.builder = _NO_RECORDS

    @property
    def compression_ratio(self) -> float:
        """Bytes of records on the wire for one byte of records, once the batch is bytes."""
        records = self.uncompressed_bytes - BATCH_OVERHEAD_BYTES
        return (len(self._payload) - BATCH_OVERHEAD_BYTES) / records if records > 0 else 1.0

    @property
    def last_sequence(self) -> int:
        """Of its last record, wrapped to 0 behind 2147483647 (PRD-IDM-02); only with a sequence."""
        return increment_sequence(self.base_sequence, self.record_count - 1)

    # life

    @property
    def is_done(self) -> bool:
        """A final state is taken (PRD-FIN-01), told or not; never for a batch that was split."""
        return self.state.is_final

    @property
    def is_published(self) -> bool:
        """The callbacks have run; of a split batch, those of all its parts (PRD-SPL-06)."""
        return all(part.is_published for _, part in self.parts) if self.parts else self._is_published

    def has_expired(self, now_ms: int) -> bool:
        """PRD-EXP-01: the limit counts from the batch's creation, linger and retries included."""
        return now_ms >= self.expires_ms

    def backs_off_until(self, leader_epoch: int) -> int | None:
        """When a retry may go; None where nothing is to be waited for.

        A leader that is newer than the one that refused the batch does not deserve the backoff (MET-09, KIP-951).
        """
        newer = 0 <= self.leader_epoch < leader_epoch
        return self.retry_at_ms if self.attempts and not newer else None

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
        """An attempt failed and another may follow; ``tells_absence``: the broker looked, and has none of it.

        Of a part no broker can tell that: if the whole was stored, it was under numbers that only the whole has.
        """
        if error.produced != "definite":
            self.has_unknown_attempt = True
            self.may_be_stored = True
        if tells_absence:
            self.may_be_stored = self.doubt_is_the_wholes

    def close(self, now_ms: int, reason: str = "drained") -> None:
        """No more records; ``reason`` is why, for the trace."""
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
        """It leaves its queue for a request; closed first if it was open."""
        self.close(now_ms)
        self.drained_ms = now_ms
        self._move(BatchEvent.DRAIN, now_ms)

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        """An attempt failed: back to its queue, not to go before ``retry_at_ms``."""
        self._move(BatchEvent.REENQUEUE, now_ms)
        self.attempts += 1
        self.goes_again = True
        self.retry_at_ms = retry_at_ms

    def was_split(self, parts: list[ProducerBatch], now_ms: int) -> None:
        """Its records are now those of ``parts``, in this order: their callbacks go along (PRD-SPL-01)."""
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
        """True where this is the batch's end, False where the batch had failed before (a late success)."""
        return self._finish(BatchEvent.SUCCEED, BatchResult(base_offset, log_append_time_ms), now_ms)

    def fail(self, error: SendError, now_ms: int, record_errors: dict[int, SendError] | None = None) -> bool:
        """Like ``succeed``; ``record_errors`` by index go before ``error``, which the others get."""
        return self._finish(BatchEvent.FAIL, BatchResult(error=error, record_errors=record_errors), now_ms)

    def abort(self, error: SendError, now_ms: int) -> None:
        """End it with an error, at the client's own will; raises IllegalTransition if it has ended (PRD-FIN-03)."""
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
                if is_plain:  # written out, because it is every record's price
                    callback(RecordMetadata(topic, partition, offset + index, timestamp_ms), None)
                else:
                    error = result.error_of(index)
                    callback(None if error else self.metadata_of(index, timestamp_ms), error)
            except Exception as raised:
                misbehaved(raised)
        self.callbacks.clear()
        self._is_published = True

    def error_of(self, index: int) -> SendError | None:
        """None where the record was stored, and while there is no result."""
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
