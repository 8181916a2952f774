"""ProducerCore: the whole producer without I/O, clock, threads or dice.

A driver calls ``send`` for records and ``run_once(now_ms)`` when something happened on the network or the time that
the last call gave has come; after each of them ``publish`` runs the callbacks. Nothing here ever waits. The same core
serves threads and sockets (transport/) and virtual time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from clients.reference.blocked_sends import BlockedSend, Delivery, Outgoing
from clients.reference.config import ProducerConfig
from clients.reference.errors import (
    BrokerError,
    BufferExhaustedError,
    IllegalStateError,
    ProducerClosedError,
    RecordTooLargeError,
    SendError,
    TimeoutError,
)
from clients.reference.metadata import Metadata, TopicMetadata
from clients.reference.metadata_updater import MetadataUpdater
from clients.reference.network_client import NetworkClient
from clients.reference.partitioner import Partitioner
from clients.reference.ports import Jitter, Selector
from clients.reference.producer_batch import Callback, Headers, ProducerBatch
from clients.reference.record_accumulator import Appended, RecordAccumulator
from clients.reference.sender import Sender
from clients.reference.states import LIFE, LifeEvent, LifeState
from clients.reference.trace import Misbehaved, SendBlocked, StateChanged, Trace, no_trace
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


@dataclass(frozen=True, slots=True, eq=False)
class FailedSend:
    """A record that never got into a batch, and whom to tell."""

    delivery: Delivery
    callback: Callback | None


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
        self._blocked: list[BlockedSend] = []
        self._to_publish: deque[ProducerBatch | FailedSend] = deque()
        self._life = LIFE.initial
        self._force_at_ms: int | None = None

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
        close, UsageError for a negative partition or timestamp (PRD-ISP-09); all else fails the delivery.
        """
        if self._life is not LifeState.OPEN:
            raise IllegalStateError("the producer is closed")
        if timestamp_ms < 0 or (partition is not None and partition < 0):
            raise UsageError("neither a record's timestamp nor its partition may be negative")
        size_bytes = record_size_bytes(key, value, headers)
        out = Outgoing(topic, partition, key, value, headers, timestamp_ms, callback, size_bytes)
        delivery = Delivery(timestamp_ms)
        failure = self._refusal(out)
        if failure:
            self._fail(FailedSend(delivery, callback), failure)
            return delivery, True
        self._metadata.add(topic, now_ms)
        known = self._known(out)
        appended = self._append(out, known, now_ms) if known else None
        if appended:
            delivery.batch, delivery.index = appended.batch, appended.index
            return delivery, appended.wake
        self._block(out, delivery, now_ms)
        return delivery, True

    def _refusal(self, out: Outgoing) -> SendError | None:
        """Why a record cannot be sent at all: too large (PRD-ACC-10), or a producer that cannot go on."""
        whole_bytes = out.size_bytes + BATCH_OVERHEAD_BYTES
        for setting, limit in (
            ("max.request.size", self._config.max_request_size),
            ("buffer.memory", self._config.buffer_memory),
        ):
            if whole_bytes > limit:
                return RecordTooLargeError(f"the record takes {whole_bytes} bytes, {setting} is {limit}")
        fatal = self._transactions.fatal_error if self._transactions else None
        if fatal:
            return BrokerError(fatal, f"the producer cannot go on: {fatal.name}", outcome="fail")
        return None

    def _known(self, out: Outgoing) -> TopicMetadata | None:
        """The topic's metadata, if it has the partition that the record wants (MET-12)."""
        known = self._metadata.topics.get(out.topic)
        if known is None or not known.partitions:
            return None
        return known if out.partition is None or out.partition < len(known.partitions) else None

    def _append(
        self, out: Outgoing, known: TopicMetadata, now_ms: int, blocked: BlockedSend | None = None
    ) -> Appended | None:
        partition = out.partition
        if partition is None:
            partition = self._partitioner.partition(out.topic, known, out.key)
        appended = self._accumulator.append(
            (out.topic, partition),
            out.timestamp_ms,
            out.key,
            out.value,
            out.headers,
            out.callback,
            out.size_bytes,
            now_ms,
            blocked.grant if blocked else None,
        )
        if appended and out.partition is None:
            self._partitioner.appended(out.topic, known, out.size_bytes, appended.batch_is_full)
        return appended

    # sends that wait

    def _block(self, out: Outgoing, delivery: Delivery, now_ms: int) -> None:
        expires_ms = now_ms + self._config.max_block_ms
        blocked = BlockedSend(out, delivery, now_ms, expires_ms, self._metadata.update_version)
        self._blocked.append(blocked)
        if self._known(out):
            self._wait_for_memory(blocked, now_ms)
        else:
            self._metadata.request_update_for(out.topic)
            self._trace(SendBlocked(at_ms=now_ms, topic=out.topic, waiting_for="metadata"))

    def _wait_for_memory(self, blocked: BlockedSend, now_ms: int) -> None:
        needed = self._accumulator.memory_for(blocked.outgoing.size_bytes)
        blocked.waiter = self._accumulator.pool.wait(needed, blocked.granted)
        self._trace(SendBlocked(at_ms=now_ms, topic=blocked.outgoing.topic, waiting_for="memory"))

    def _progress_blocked(self, now_ms: int) -> None:
        """Let every blocked send go as far as it can, first come first served."""
        still_blocked = []
        for blocked in self._blocked:
            self._progress(blocked, now_ms)
            if blocked.delivery.is_blocked:
                still_blocked.append(blocked)
        self._blocked = still_blocked

    def _progress(self, blocked: BlockedSend, now_ms: int) -> None:
        out, delivery = blocked.outgoing, blocked.delivery
        error = self._metadata.topic_errors.get(out.topic)
        known = self._known(out)
        if blocked.waiter is None:
            if error and not error.retriable:  # MET-13: waiting would not help
                self._unblock(
                    blocked, BrokerError(error, f"topic {out.topic!r}: {error.name}", outcome="fail")
                )
                return
            appended = self._append(out, known, now_ms, blocked) if known else None
            if appended:
                delivery.batch, delivery.index = appended.batch, appended.index
                return
            if known:
                self._wait_for_memory(blocked, now_ms)
            elif blocked.seen_update != self._metadata.update_version:
                blocked.seen_update = self._metadata.update_version
                self._metadata.add(out.topic, now_ms)
                self._metadata.request_update_for(out.topic)
        if now_ms >= blocked.expires_ms:
            self._unblock(blocked, self._block_timeout(blocked))

    def _block_timeout(self, blocked: BlockedSend) -> SendError:
        limit = f"within max.block.ms ({self._config.max_block_ms} ms)"
        out = blocked.outgoing
        if blocked.waiter:
            return BufferExhaustedError(f"no memory for a record of {out.size_bytes} bytes {limit}")
        known = self._metadata.topics.get(out.topic)
        if known is None:
            return TimeoutError(f"topic {out.topic!r} did not appear in metadata {limit}")
        return TimeoutError(
            f"partition {out.partition} of topic {out.topic!r}, which has {len(known.partitions)}, "
            f"did not appear in metadata {limit}"
        )

    def _unblock(self, blocked: BlockedSend, failure: SendError) -> None:
        if blocked.waiter:
            self._accumulator.pool.give_up(blocked.waiter)
        if blocked.grant:
            self._accumulator.pool.give_back(blocked.grant)
        self._fail(FailedSend(blocked.delivery, blocked.outgoing.callback), failure)

    def _fail(self, failed: FailedSend, failure: SendError) -> None:
        failed.delivery.failure = failure
        self._to_publish.append(failed)

    # rounds

    def run_once(self, now_ms: int) -> int | None:
        """Take what the network brought and do all that can be done now.

        Gives the time of the next call that is due by itself; None where only the network or the application can
        bring news. That time may be now.
        """
        if self._life is LifeState.CLOSED:
            return None
        self._client.poll(now_ms)
        self._progress_blocked(now_ms)
        self._updater.maybe_update(now_ms)
        times = [
            self._sender.step(now_ms),
            self._updater.maybe_update(now_ms),
            self._client.next_deadline_ms(),
        ]
        times += [now_ms if blocked.grant else blocked.expires_ms for blocked in self._blocked]
        times.append(self._maybe_finish_closing(now_ms))
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
        for blocked in self._blocked:
            self._unblock(blocked, ProducerClosedError("the producer was closed while send() was waiting"))
        self._blocked = []

    def _maybe_finish_closing(self, now_ms: int) -> int | None:
        if self._life is not LifeState.CLOSING:
            return None
        if not self._sender.has_unfinished():
            self._live(LifeEvent.DRAINED, now_ms)
        elif self._force_at_ms is not None and now_ms >= self._force_at_ms:
            self._sender.abort_all(self._closed_forcefully, now_ms)
            self._live(LifeEvent.FORCE, now_ms)
        else:
            return self._force_at_ms
        self._client.close()
        return None

    def _closed_forcefully(self, batch: ProducerBatch) -> SendError:
        return ProducerClosedError(
            f"the producer was closed before {batch.record_count} record(s) had a result",
            outcome="info" if batch.is_in_doubt else "fail",
        )

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
