"""ProducerCore: the whole producer without I/O, clock, threads or dice.

A driver calls ``send`` for records and ``run_once(now_ms)`` when something happened on the network or the time that
the last call gave has come; after each of them ``publish`` runs the callbacks. Nothing here ever waits. The same core
serves threads and sockets (transport/) and virtual time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from types import NoneType

from clients.reference import failures
from clients.reference.blocked_sends import BlockedSends, topic_with_partition
from clients.reference.buffer_pool import Grant
from clients.reference.config import INT64_MAX, ProducerConfig
from clients.reference.delivery import Delivery, Outgoing
from clients.reference.errors import IllegalStateError, ProducerClosedError, RecordTooLargeError, SendError
from clients.reference.metadata import Metadata, TopicMetadata
from clients.reference.metadata_updater import MetadataUpdater
from clients.reference.network_client import NetworkClient
from clients.reference.partitioner import Partitioner
from clients.reference.ports import INT32_MAX, Jitter, Selector
from clients.reference.producer_batch import Callback, Headers, ProducerBatch
from clients.reference.record_accumulator import RecordAccumulator
from clients.reference.sender import Sender
from clients.reference.states import LIFE, LifeEvent, LifeState
from clients.reference.trace import Misbehaved, StateChanged, Trace, no_trace
from clients.reference.transaction_manager import TransactionManager
from harness.errors import UsageError
from harness.wire.records import BATCH_OVERHEAD_BYTES, record_size_bytes


@dataclass(frozen=True)
class Components:
    """The classes that a producer is made of; a variant of the client swaps one."""

    metadata: type[Metadata] = Metadata
    network_client: type[NetworkClient] = NetworkClient
    metadata_updater: type[MetadataUpdater] = MetadataUpdater
    partitioner: type[Partitioner] = Partitioner
    transaction_manager: type[TransactionManager] = TransactionManager
    batch: type[ProducerBatch] = ProducerBatch
    accumulator: type[RecordAccumulator] = RecordAccumulator
    sender: type[Sender] = Sender


_BYTES_OR_NONE = (bytes, NoneType)


def size_of_record(
    key: bytes | None, value: bytes | None, headers: Headers, timestamp_ms: int, partition: int | None
) -> int:
    """An upper bound of the record's size in bytes; raises UsageError for what is no record (PRD-ISP-09)."""
    if not 0 <= timestamp_ms <= INT64_MAX or (partition is not None and not 0 <= partition <= INT32_MAX):
        raise UsageError("a record's timestamp and partition may be neither negative nor beyond their range")
    if not (isinstance(key, _BYTES_OR_NONE) and isinstance(value, _BYTES_OR_NONE)):
        raise UsageError("a record's key and value are bytes, or None")
    try:
        if not all(isinstance(content, _BYTES_OR_NONE) for _, content in headers):
            raise UsageError("a header's value is bytes, or None")
        return record_size_bytes(key, value, headers)
    except (AttributeError, TypeError, ValueError):
        raise UsageError("headers are pairs of a name, as text, and a value, as bytes or None") from None


class ProducerCore:
    """A producer for one thread at a time; ``now_ms`` is any clock that never goes back, in whole milliseconds."""

    def __init__(
        self,
        config: ProducerConfig,
        selector: Selector,
        *,
        jitter: Jitter,
        trace: Trace = no_trace,
        components: Components | None = None,
    ) -> None:
        made = components or Components()
        self._config = config
        self._trace = trace
        self._metadata = made.metadata(config, jitter, trace)
        self._client = made.network_client(config, selector, self._metadata, jitter, trace)
        self._updater = made.metadata_updater(config, self._client, self._metadata)
        self._partitioner = made.partitioner(config, jitter)
        transactions = made.transaction_manager(config, jitter, trace) if config.enable_idempotence else None
        self._transactions = transactions
        self._accumulator = made.accumulator(config, self._metadata, transactions, jitter, trace, made.batch)
        self._sender = made.sender(
            config, self._client, self._metadata, self._accumulator, transactions, trace, self._publish_later
        )
        self._blocked = BlockedSends(
            config, self._metadata, self._accumulator.pool, trace, self._append, self._fail
        )
        self._to_publish: deque[ProducerBatch | Outgoing] = deque()
        self._life = LIFE.initial
        self._force_at_ms: int | None = None
        self._wants_round = False
        self._largest_record = min(
            (config.max_request_size, "max.request.size"), (config.buffer_memory, "buffer.memory")
        )

    # records

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        timestamp_ms: int,
        now_ms: int,
        partition: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> tuple[Delivery, bool]:
        """Put a record into a batch; gives its delivery, and whether a round is due now.

        ``timestamp_ms`` is the record's own (Unix time), ``now_ms`` the core's clock. Raises IllegalStateError after
        close, UsageError for what is no record (PRD-ISP-09); all else fails the delivery.
        """
        if self._life is not LifeState.OPEN:
            raise IllegalStateError("the producer is closed")
        size_bytes = size_of_record(key, value, headers, timestamp_ms, partition)
        delivery = Delivery(timestamp_ms)
        out = Outgoing(topic, partition, key, value, headers, timestamp_ms, callback, size_bytes, delivery)
        failure = self._refusal(size_bytes)
        if failure:
            self._fail(out, failure)
            return delivery, True
        self._metadata.add(topic, now_ms)
        known = topic_with_partition(self._metadata, out)
        if known is None or not self._append(out, known, now_ms):
            self._blocked.add(out, self._accumulator.memory_for(size_bytes), now_ms)
            return delivery, True
        return delivery, self._wants_round

    def _refusal(self, size_bytes: int) -> SendError | None:
        """Why a record cannot be sent at all: too large (PRD-ACC-10), or a producer that cannot go on."""
        whole_bytes = size_bytes + BATCH_OVERHEAD_BYTES
        if whole_bytes > self._largest_record[0]:
            limit, setting = self._largest_record
            return RecordTooLargeError(f"the record takes {whole_bytes} bytes, {setting} is {limit}")
        fatal = self._transactions and self._transactions.fatal_error
        return failures.cannot_go_on(fatal) if fatal else None

    def _append(self, out: Outgoing, known: TopicMetadata, now_ms: int, grant: Grant | None = None) -> bool:
        """Choose the partition and put the record into a batch; False where there is no memory for one."""
        partition = out.partition
        if partition is None:
            partition = self._partitioner.partition(out.topic, known, out.key)
        appended = self._accumulator.append(out, (out.topic, partition), now_ms, grant)
        if appended is None:
            return False
        out.delivery.batch, out.delivery.index = appended.batch, appended.index
        self._wants_round = appended.wake
        if out.partition is None and out.key is None:
            self._partitioner.appended(out.topic, known, out.size_bytes, appended.batch_is_full)
        return True

    def _fail(self, out: Outgoing, failure: SendError) -> None:
        out.delivery.failure = failure
        self._to_publish.append(out)

    # rounds

    def run_once(self, now_ms: int) -> int | None:
        """Take what the network brought and do all that can be done now.

        Gives the time of the next call that is due by itself; None where only the network or the application can
        bring news. That time may be now.
        """
        if self.is_closed:
            return None
        self._client.poll(now_ms)
        self._blocked.progress(self._accumulator.memory_for, now_ms)
        self._updater.maybe_update(now_ms)
        times = [
            self._sender.step(now_ms),
            self._updater.maybe_update(now_ms),
            self._client.next_deadline_ms(),
        ]
        times += [self._blocked.next_ms(now_ms), self._maybe_finish_closing(now_ms)]
        return min((time for time in times if time is not None), default=None)

    def publish(self, now_ms: int) -> bool:
        """Run the callbacks of what has ended; True if there was any. Callbacks may send."""
        anything = bool(self._to_publish)
        while self._to_publish:
            ended = self._to_publish.popleft()
            if isinstance(ended, ProducerBatch):
                ended.publish(lambda raised: self._misbehaved(raised, now_ms))
            elif ended.callback:
                try:
                    ended.callback(None, ended.delivery.failure)
                except Exception as raised:
                    self._misbehaved(raised, now_ms)
        return anything

    def _misbehaved(self, raised: Exception, now_ms: int) -> None:
        what = f"{type(raised).__name__}: {raised}"
        self._trace(Misbehaved(at_ms=now_ms, who="callback", what=what))

    def _publish_later(self, batch: ProducerBatch) -> None:
        self._to_publish.append(batch)

    # flush and close

    def begin_flush(self) -> list[ProducerBatch]:
        """Make everything sendable; the flush is over when all these batches are published (PRD-CLS-01)."""
        self._accumulator.begin_flush()
        return self._accumulator.incomplete()

    def end_flush(self) -> None:
        self._accumulator.end_flush()

    @property
    def is_closed(self) -> bool:
        return self._life is LifeState.CLOSED

    def close(self, now_ms: int, timeout_ms: int | None = None) -> None:
        """Refuse new records, fail blocked sends, send what is buffered; after ``timeout_ms`` give the rest up.

        The producer is closed when ``is_closed`` is true, by a later round (PRD-CLS-03, -04, -07). Calling it again
        can only shorten the time.
        """
        self._live(LifeEvent.CLOSE, now_ms)
        if timeout_ms is not None:
            earlier = [] if self._force_at_ms is None else [self._force_at_ms]
            self._force_at_ms = min([*earlier, now_ms + max(timeout_ms, 0)])
        self._accumulator.close()
        self._blocked.give_up(lambda: ProducerClosedError("the producer was closed while send() was waiting"))

    def _maybe_finish_closing(self, now_ms: int) -> int | None:
        if self._life is not LifeState.CLOSING:
            return None
        if not self._sender.has_unfinished():
            self._live(LifeEvent.DRAINED, now_ms)
        elif self._force_at_ms is not None and now_ms >= self._force_at_ms:
            self._sender.abort_all(failures.closed, now_ms)
            self._live(LifeEvent.FORCE, now_ms)
        else:
            return self._force_at_ms
        self._client.close()
        return None

    def force_close(self, now_ms: int) -> None:
        """Give everything up at once, whatever state a round left behind."""
        self.close(now_ms, 0)
        self._maybe_finish_closing(now_ms)

    def _live(self, event: LifeEvent, now_ms: int) -> None:
        before = self._life
        self._life = LIFE.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=LIFE.name,
                subject="",
                before=before.value,
                cause=event.value,
                after=self._life.value,
            )
        )
