"""ProducerCore: the whole producer without I/O, clock, threads or randomness.

A driver calls ``send`` for records. It calls ``run_once(now_ms)`` after network events, and at the time that the last
call returned. After each of them, ``publish`` runs the callbacks. The core never waits. It serves both threads and
sockets (transport/) and virtual time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from clients.reference.common.earliest import earliest
from clients.reference.config.producer_config import INT64_MAX, ProducerConfig
from clients.reference.errors import (
    IllegalStateError,
    ProducerClosedError,
    SendError,
)
from clients.reference.metadata.metadata import TopicMetadata
from clients.reference.ports import Jitter, Selector
from clients.reference.producer import batch_errors, invariants
from clients.reference.producer.append_cache import Seats
from clients.reference.producer.blocked_sends import topic_with_partition
from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.components import Components
from clients.reference.producer.partitioner import ClusterView
from clients.reference.producer.producer_batch import Callback, Headers, ProducerBatch, nowhere
from clients.reference.producer.record_size import size_of_record
from clients.reference.producer.send_handle import Delivery, Outgoing
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.states import LIFE, LifeEvent, LifeState
from clients.reference.telemetry.trace import CallbackFailed, StateChanged, Trace, no_trace
from harness.wire.records import BATCH_OVERHEAD_BYTES

__all__ = ["Components", "ProducerCore"]

logger = logging.getLogger("kafka-trial.reference")

_OPEN, _CLOSED = LifeState.OPEN, LifeState.CLOSED


def _no_seat(*record: object) -> None:
    """Take no record: each one of a transaction needs the checks of the slow path."""


class ProducerCore:
    """A producer for one thread at a time. ``now_ms`` is any monotonic clock, in whole milliseconds."""

    def __init__(
        self,
        config: ProducerConfig,
        selector: Selector,
        *,
        jitter: Jitter,
        trace: Trace = no_trace,
        components: Components | None = None,
        new_delivery: Callable[..., Delivery] = Delivery,
        owner: Any = None,
    ) -> None:
        made = components or Components()
        self._config = config
        self._trace = trace
        self._metadata = made.metadata(config, jitter, trace)
        self._client = made.network_client(config, selector, self._metadata, jitter, trace)
        self._updater = made.metadata_updater(config, self._client, self._metadata)
        transactions: TransactionManager | None = None
        self._transactional: TransactionalManager | None = None
        if config.transactional_id is not None:
            transactions = self._transactional = made.transactional_manager(config, jitter, trace)
        elif config.enable_idempotence:
            transactions = made.transaction_manager(config, jitter, trace)
        self._transactions = transactions
        self._accumulator = made.accumulator(config, self._metadata, transactions, jitter, trace, made.batch)
        self._partitioner = made.partitioner(config, jitter, self._accumulator)
        self._sender = made.sender(
            config, self._client, self._metadata, self._accumulator, transactions, trace, self._publish_later
        )
        self._blocked = made.blocked_sends(
            config, self._metadata, self._accumulator.pool, trace, self._append, self._fail
        )
        self._to_publish: deque[ProducerBatch | Outgoing] = deque()
        self._life = LIFE.initial
        self._force_at_ms: int | None = None
        self._wants_round = False
        self._largest_record = min(
            (config.max_request_size, "max.request.size"), (config.buffer_memory, "buffer.memory")
        )
        self._new_delivery, self._owner = new_delivery, owner
        self._seats = Seats(
            self._metadata,
            self._partitioner,
            self._largest_record[0],
            new_delivery,
            owner,
        )
        self.send_plain = _no_seat if self._transactional else self._seats.append

    # Records

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
        """Put a record into a batch. Return its delivery, and whether a round is due now.

        ``timestamp_ms`` is the record's own (Unix time), ``now_ms`` the core's clock. Raise IllegalStateError after
        close, UsageError for an invalid record (PRD-ISP-09). All other errors fail the delivery.
        """
        if not headers and 0 <= timestamp_ms <= INT64_MAX:
            delivery = self.send_plain(topic, key, value, timestamp_ms, now_ms, callback, partition)
            if delivery is not None:
                return delivery, False
        return self._send(topic, key, value, timestamp_ms, now_ms, partition, headers, callback)

    def _send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        now_ms: int,
        partition: int | None,
        headers: Headers,
        callback: Callback | None,
    ) -> tuple[Delivery, bool]:
        """Send on the slow path: check everything, and block a record without metadata or memory."""
        if self._life is not _OPEN:
            raise IllegalStateError("producer-is-closed", "the producer is closed")
        if self._transactional:
            self._transactional.may_send()
        size_bytes = size_of_record(key, value, headers, timestamp_ms, partition)
        delivery = self._new_delivery(timestamp_ms, None, 0, None, self._owner)
        out = Outgoing(topic, partition, key, value, headers, timestamp_ms, callback, size_bytes, delivery)
        failure = self._refusal(size_bytes)
        if failure:
            self._fail(out, failure)
            return delivery, True
        self._metadata.add(topic, now_ms)
        known = topic_with_partition(self._metadata, out)
        if known is not None:
            if self._append(out, known, now_ms):
                if delivery.batch and not headers:
                    keyless = key is None and partition is None
                    self._seats.leave(delivery.batch, now_ms, keyless=keyless)
                return delivery, self._wants_round
            if delivery.failure:
                return delivery, True
        self._blocked.add(out, self._accumulator.memory_for(size_bytes), now_ms)
        return delivery, True

    def _refusal(self, size_bytes: int) -> SendError | None:
        """Return why a record cannot be sent: it is too large (PRD-ACC-10), or the producer has failed.

        None if it can.
        """
        whole_bytes = size_bytes + BATCH_OVERHEAD_BYTES
        if whole_bytes > self._largest_record[0]:
            limit, setting = self._largest_record
            return batch_errors.too_large(whole_bytes, setting, limit)
        fatal = self._transactions and self._transactions.fatal_error
        return batch_errors.cannot_go_on(fatal) if fatal else None

    def _append(self, out: Outgoing, known: TopicMetadata, now_ms: int, grant: Grant | None = None) -> bool:
        """Put the record into a batch of its own partition, of the key's, or of a sticky one (PRD-ISP-06).

        Return False without memory.
        """
        partition = out.partition
        if partition is None:
            partition = self._partitioner.partition(out.topic, known, out.key)
        appended = self._accumulator.append(out, (out.topic, partition), now_ms, grant)
        if appended is None:
            return False
        if self._transactional:
            self._transactional.include(appended.batch.partition)
        out.delivery.batch, out.delivery.index = appended.batch, appended.index
        self._wants_round = appended.wake
        if out.partition is None:
            self._partitioner.appended(out.topic, out.key, appended.size_bytes)
        return True

    def _fail(self, out: Outgoing, failure: SendError) -> None:
        out.delivery.failure = failure
        if self._transactional:
            self._transactional.unsent_failure = failure
        self._to_publish.append(out)

    # Queries

    @property
    def transactions(self) -> TransactionalManager:
        """The calls of transactions. A round is due after each. Raise IllegalStateError without a transactional.id."""
        if self._transactional is None:
            raise IllegalStateError("not-transactional", "the producer has no transactional.id")
        return self._transactional

    @property
    def pool(self) -> BufferPool:
        """The account of buffer.memory."""
        return self._accumulator.pool

    def listen_for_cluster_id(self, listener: Callable[[str | None], None]) -> None:
        """Call ``listener`` with the cluster's id after every metadata update (PRD-ISP-05)."""
        self._metadata.on_cluster_id = listener

    def cluster(self) -> ClusterView:
        """Return the current state of the cluster, for an application's partitioner."""
        return ClusterView(self._metadata)

    def topic_metadata(self, topic: str, now_ms: int) -> TopicMetadata | None:
        """Return a topic's metadata, or None if it is unknown. In that case it is requested and a round is due.

        Raise BrokerError if the broker's response is an error that is not retriable (MET-13), and a fatal error of the
        client's metadata (MET-16).
        """
        self._metadata.add(topic, now_ms)
        refusal = self._metadata.topic_errors.get(topic)
        if refusal and not refusal.retriable:
            raise batch_errors.topic_refused(refusal, topic)
        known = self._metadata.topics.get(topic)
        if known is None or not known.partitions:
            fatal = self._metadata.take_fatal_error()
            if fatal:
                raise fatal
            self._metadata.request_update_for(topic)
            return None
        return known

    # Rounds

    def run_once(self, now_ms: int) -> int | None:
        """Process network events and do everything that is possible now.

        Return the time of the next call, which may be now. None if only the network or the application can cause more
        work.
        """
        if self._life is _CLOSED:
            return None
        self._client.poll(now_ms)
        self._blocked.progress(self._accumulator.memory_for, now_ms)
        if self._transactional:
            self._settle_transaction(self._transactional, now_ms)
        self._updater.maybe_update(now_ms)
        due_ms = earliest(
            self._sender.step(now_ms),
            self._updater.maybe_update(now_ms),
            self._client.next_deadline_ms(),
            self._blocked.next_ms(now_ms),
            None if self._life is _OPEN else self._maybe_finish_closing(now_ms),
        )
        if self._seats.topics is not self._metadata.topics:
            self._seats.clear()
        return due_ms

    def _settle_transaction(self, transactional: TransactionalManager, now_ms: int) -> None:
        """A transaction waits for blocked records, and fails with them or they with it (PRD-TXN-05, -07, -18)."""
        transactional.settle_unsent_failure(now_ms)
        if transactional.transaction.cannot_commit:
            self._blocked.give_up(batch_errors.transaction_aborted, now_ms)
        transactional.has_blocked_sends = self._blocked.count > 0
        if self._life is LifeState.CLOSING and not self._sender.has_unfinished():
            transactional.abort_to_close(now_ms)

    def publish(self, now_ms: int) -> bool:
        """Run the callbacks of everything that has ended. Return True if there was anything. Callbacks may send."""
        if not self._to_publish:
            return False
        while self._to_publish:
            ended = self._to_publish.popleft()
            if isinstance(ended, ProducerBatch):
                ended.publish(lambda raised: self._misbehaved(raised, now_ms))
            elif ended.callback:
                try:
                    ended.callback(nowhere(ended.topic, ended.partition), ended.delivery.failure)
                except Exception as raised:
                    self._misbehaved(raised, now_ms)
        return True

    def _misbehaved(self, raised: Exception, now_ms: int) -> None:
        what = f"{type(raised).__name__}: {raised}"
        logger.error("a callback of send() failed", exc_info=raised)
        self._trace(CallbackFailed(at_ms=now_ms, who="callback", what=what))

    def _publish_later(self, batch: ProducerBatch) -> None:
        self._seats.vacate(batch)
        self._to_publish.append(batch)

    # Invariants

    def misplaced(self) -> list[str]:
        """Return what is wrong with the location of batches (PRD-FIN-04). Empty at any time between two calls."""
        return invariants.misplaced(self._accumulator, self._sender)

    def not_at_rest(self) -> list[str]:
        """Return what is in progress or not returned (PRD-ACC-11). Empty once everything has its result."""
        return invariants.not_at_rest(self._accumulator, self._sender, self._blocked.count)

    # Flush and close

    def begin_flush(self) -> list[ProducerBatch]:
        """Make everything ready to be sent. The flush ends once all returned batches are published (PRD-CLS-01)."""
        self._accumulator.begin_flush()
        return self._accumulator.incomplete()

    def end_flush(self) -> None:
        """End a flush. Required once per ``begin_flush``, as otherwise nothing lingers any more."""
        self._accumulator.end_flush()

    @property
    def is_open(self) -> bool:
        """True until close() is called."""
        return self._life is _OPEN

    @property
    def is_closed(self) -> bool:
        """Whether every batch has its result and no connection is open. ``publish`` may still have callbacks to run."""
        return self._life is _CLOSED

    def close(self, now_ms: int, timeout_ms: int | None = None) -> None:
        """Reject new records, fail blocked sends, send what is buffered. After ``timeout_ms``, abort the rest.

        A later round sets ``is_closed`` (PRD-CLS-03, -04, -07). Another call can only shorten the timeout.
        """
        self._live(LifeEvent.CLOSE, now_ms)
        if timeout_ms is not None:
            earlier = [] if self._force_at_ms is None else [self._force_at_ms]
            self._force_at_ms = min([*earlier, now_ms + max(timeout_ms, 0)])
        self._seats.clear()
        self._accumulator.close()
        self._blocked.give_up(
            lambda: ProducerClosedError(
                "producer-closed", "the producer was closed while send() was waiting"
            ),
            now_ms,
        )

    def abort_undrained(self, error_for: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Abort the batches that were never sent. Batches that were sent continue to their result."""
        self._sender.abort_undrained(error_for, now_ms)

    def _maybe_finish_closing(self, now_ms: int) -> int | None:
        if self._life is not LifeState.CLOSING:
            return None
        transaction = self._transactional.transaction if self._transactional else None
        has_unfinished = self._sender.has_unfinished()
        if not has_unfinished and not (transaction and transaction.is_ongoing):
            self._live(LifeEvent.DRAINED, now_ms)
        elif self._force_at_ms is not None and now_ms >= self._force_at_ms:
            self._sender.abort_all(batch_errors.closed, now_ms)
            self._live(LifeEvent.FORCE, now_ms)
        else:
            can_be_aborted = transaction and not has_unfinished and not transaction.is_completing
            return now_ms if can_be_aborted else self._force_at_ms
        self._client.close()
        self._sender.connections_are_closed()
        if self._transactional:
            self._transactional.closed()
        return None

    def force_close(self, now_ms: int) -> None:
        """Abort everything at once, whatever state a round left."""
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
                before=before.told,
                cause=event.told,
                after=self._life.told,
            )
        )
