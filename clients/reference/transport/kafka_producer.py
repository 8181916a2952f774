"""KafkaProducer: the core behind one lock, driven by one I/O thread on real sockets.

The thread takes the lock for each round and lets it go to wait and to run callbacks, so a slow callback delays the
thread but blocks nobody in ``send``. Application threads take the lock for an append; they block only where Kafka's
do: for metadata or memory (max.block.ms), in ``flush``, ``close``, ``partitions_for`` and a future's ``result``.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from time import monotonic, monotonic_ns, time_ns
from types import TracebackType
from typing import Any, cast

from clients.reference.config import ProducerConfig
from clients.reference.config_keys import NEWEST
from clients.reference.delivery import Delivery
from clients.reference.errors import (
    BufferExhaustedError,
    ConfigException,
    IllegalStateError,
    ProducerClosedError,
    SendError,
)
from clients.reference.errors import TimeoutError as MetadataTimeoutError
from clients.reference.interceptors import Acknowledgement, ProducerRecord
from clients.reference.metadata import PartitionMetadata, TopicMetadata
from clients.reference.metrics import Gauges, MetricName, ProducerMetrics
from clients.reference.producer import Components, ProducerCore
from clients.reference.producer_batch import Callback, Headers
from clients.reference.sasl import authenticators
from clients.reference.trace import Trace, TraceEvent, no_trace
from clients.reference.transport.record_future import RecordFuture, Waiting, contained
from clients.reference.transport.selector import SocketSelector

logger = logging.getLogger("kafka-trial.reference")

_numbers = count(1)
LONGEST_WAIT_S = 3_600.0
CALLBACK_GRACE_S = 1.0


def now_ms() -> int:
    """The core's clock: monotonic, whole milliseconds."""
    return monotonic_ns() // 1_000_000


class KafkaProducer:
    """Sends records to Kafka. Thread-safe; a context manager that closes; one I/O thread of its own.

    ``settings`` have the Java client's names, ranges and rules; ``defaults_of`` is the release whose defaults count.
    Settings that take a plug-in take an object, a class or "module:Class". ``trace`` is called from the I/O thread
    and from senders, under the producer's lock: it must be quick. ``seed`` makes backoffs and sticky partitions
    repeatable.

    Raises ConfigException for settings that contradict each other or where no bootstrap server has an address,
    UsageError for a name that is no setting, PluginError where a plug-in cannot be made.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        defaults_of: str = NEWEST,
        trace: Trace = no_trace,
        components: Components | None = None,
        seed: int | None = None,
    ) -> None:
        number = 0 if "client.id" in settings else next(_numbers)
        made = components or Components()
        self.config = made.config.from_mapping(settings, defaults_of=defaults_of, number=number)
        self._plugins = made.plugins(self.config)
        self._selector: SocketSelector | None = None
        try:
            self._open(trace, components, random.Random(seed))
        except BaseException:
            self._plugins.close()
            if self._selector is not None:
                self._selector.close_all()
            raise
        self._thread.start()

    def _open(self, trace: Trace, components: Components | None, dice: random.Random) -> None:
        config = self.config
        self._metrics = ProducerMetrics(
            config.client_id,
            window_ms=config.metrics_sample_window_ms,
            samples=config.metrics_num_samples,
            acks=config.acks,
        )
        self._lock = threading.RLock()
        self._take_lock, self._release_lock = self._lock.acquire, self._lock.release
        self._news = threading.Condition(self._lock)
        self._waiting = Waiting(self._news)
        self._tick()
        self._user_trace = None if trace is no_trace else trace
        self._selector = SocketSelector(
            config.send_buffer_bytes, config.receive_buffer_bytes, authenticators(config)
        )
        self._wakeup = self._selector.wakeup
        self._core = ProducerCore(
            replace(
                config,
                bootstrap=_resolvable(config, self._selector),
            ),
            self._selector,
            jitter=lambda: dice.uniform(-1, 1),
            trace=self._trace,
            components=components,
            partitioner=self._plugins.partitioner,
            new_delivery=RecordFuture,
            owner=self._waiting,
        )
        self._core_send = cast("Callable[..., tuple[RecordFuture, bool]]", self._core.send)
        self._send_plain = cast("Callable[..., RecordFuture | None]", self._core.send_plain)
        self._core.listen_for_cluster_id(self._plugins.cluster_updated)
        self._touches_records = self._plugins.touch_records
        self._later: deque[Callable[[], None]] = deque()
        self._is_over = False
        self._plugins.metrics_made(self._metrics.names(), self.metrics)
        self._metrics.added = self._plugins.metric_added
        self._thread = threading.Thread(
            target=self._run, name=f"kafka-producer {config.client_id}", daemon=True
        )

    # records

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Append a record; blocks for metadata or memory for at most max.block.ms. A send from a callback never does.

        ``value`` and ``key`` are what their serializers take, without one bytes or None; ``timestamp_ms`` is Unix
        time, by default now (PRD-ISP-09). What becomes of the record is the future's, and
        ``callback(metadata, error)``, one of them None, runs on the I/O thread.

        Raises IllegalStateError after close, UsageError for what is no record, SerializationError for a value that
        its serializer does not take; nothing is buffered then. All else fails the future.
        """
        if self._touches_records:
            record = ProducerRecord(
                topic=topic,
                value=value,
                key=key,
                partition=partition,
                timestamp_ms=timestamp_ms,
                headers=headers,
            )
            return self._send_record(record, callback)
        # Taken by hand, which costs half of what ``with`` does, and counts here. An interrupt may come before
        # the lock is taken or after it is released, and then there is nothing to release.
        try:
            self._take_lock()
            if timestamp_ms is None:
                if monotonic() >= self._next_tick_s:
                    self._tick()
                future = None
                if not headers:
                    future = self._send_plain(
                        topic, key, value, self._unix_ms, self._now_ms, callback, partition
                    )
                if future is None:
                    future = self._send_whole(topic, key, value, self._unix_ms, partition, headers, callback)
            else:
                future = self._send_whole(topic, key, value, timestamp_ms, partition, headers, callback)
            self._release_lock()
        except BaseException:
            with suppress(RuntimeError):
                self._release_lock()
            raise
        return future

    def _tick(self) -> None:
        """Read both clocks, once a millisecond at most."""
        self._now_ms = now_ms()
        self._next_tick_s = (self._now_ms + 1) / 1000
        self._unix_ms = time_ns() // 1_000_000

    def _send_whole(
        self,
        topic: str,
        key: Any,
        value: Any,
        timestamp_ms: int,
        partition: int | None,
        headers: Headers,
        callback: Callback | None,
        raw: tuple[Any, Any] | None = None,
    ) -> RecordFuture:
        """With the lock held: all that ``send`` of the core can do, and the wait for metadata or memory."""
        future, is_round_due = self._core_send(
            topic,
            key,
            value,
            timestamp_ms=timestamp_ms,
            now_ms=now_ms(),
            partition=partition,
            headers=headers,
            callback=callback,
            raw=raw,
        )
        if is_round_due:
            self._after_send(future)
        return future

    def _send_record(self, record: ProducerRecord, callback: Callback | None) -> RecordFuture:
        """The long way: interceptors, metadata for who listens for the cluster's id, serializers, a partitioner."""
        since_ms = now_ms()
        record = self._plugins.interceptors.on_send(record)
        end = Acknowledgement(self._plugins.interceptors, record, callback)
        try:
            self._must_be_open()
            if self._plugins.cluster_listeners and not self._on_io_thread():
                self._await_topic(record.topic, since_ms)
            key, value = self._plugins.serialize(record)
            timestamp_ms = record.timestamp_ms
            if timestamp_ms is None:
                timestamp_ms = time_ns() // 1_000_000
            with self._lock:
                end.delivery = self._send_whole(
                    record.topic,
                    key,
                    value,
                    timestamp_ms,
                    record.partition,
                    record.headers,
                    end,
                    raw=(record.key, record.value),
                )
                return end.delivery
        except SendError as error:
            return self._failed(record, end, error)
        except Exception as error:
            self._plugins.interceptors.on_send_error(record, error)
            raise

    def _after_send(self, delivery: Delivery) -> None:
        """Wake the I/O thread; wait, with the lock let go, for a record that found no metadata or no memory."""
        self._wakeup()
        if delivery.is_blocked and not self._on_io_thread():
            self._news.wait_for(lambda: not delivery.is_blocked)
            if isinstance(delivery.failure, BufferExhaustedError):
                self._metrics.record("buffer-exhausted", 1, now_ms())

    def _failed(self, record: ProducerRecord, end: Acknowledgement, error: SendError) -> RecordFuture:
        """A send that ended before the core saw it ends like any other: on the I/O thread."""
        failed = RecordFuture(record.timestamp_ms or 0, failure=error, owner=self._waiting)
        with self._lock:
            is_over = self._is_over
            if not is_over:
                self._later.append(lambda: end(None, error))
                self._wakeup()
        if is_over:
            contained(lambda: end(None, error))
        return failed

    # the cluster

    def partitions_for(self, topic: str) -> dict[int, PartitionMetadata]:
        """A topic's partitions by index, each with its leader's node id and epoch (PRD-ISP-05, MET-11).

        Raises the client's TimeoutError where the topic does not appear within max.block.ms, BrokerError where it
        never will, IllegalStateError after close and in a callback, which must not wait.
        """
        if self._on_io_thread():
            raise IllegalStateError(
                "partitions_for() must not be called from a callback: it would wait for itself"
            )
        self._must_be_open()
        return dict(self._await_topic(topic, now_ms()).partitions)

    def _must_be_open(self) -> None:
        if not self._core.is_open:
            raise IllegalStateError("the producer is closed")

    def _await_topic(self, topic: str, since_ms: int) -> TopicMetadata:
        """Raises the SendError that ends a send which waits for metadata."""
        began_ms = now_ms()
        with self._lock:
            while True:
                if not self._core.is_open:
                    raise ProducerClosedError("the producer was closed while metadata was waited for")
                known = self._core.topic_metadata(topic, now_ms())
                left_ms = since_ms + self.config.max_block_ms - now_ms()
                if known is not None or left_ms <= 0:
                    break
                self._wakeup()
                self._news.wait(min(left_ms / 1000, LONGEST_WAIT_S))
            self._metrics.record("metadata-wait-time-ns", (now_ms() - began_ms) * 1_000_000, now_ms())
        if known is None:
            raise MetadataTimeoutError(
                f"topic {topic!r} did not appear in metadata within {self.config.max_block_ms} ms"
            )
        return known

    def metrics(self) -> dict[MetricName, float]:
        """All metrics now, by the Java client's names (see metrics.py for units); also after close."""
        with self._lock:
            pool = self._core.pool
            gauges = Gauges(pool.available_bytes, pool.total_bytes, pool.peak_bytes, pool.waiting)
            return self._metrics.read(gauges, now_ms())

    # flush and close

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything that is buffered and wait until it has its results (PRD-CLS-01).

        Raises the built-in TimeoutError after ``timeout_s`` seconds, IllegalStateError in a callback (PRD-CLS-02).
        """
        if self._on_io_thread():
            raise IllegalStateError("flush() must not be called from a callback: it would wait for itself")
        began_ns = monotonic_ns()
        with self._lock:
            batches = self._core.begin_flush()
            try:
                self._wakeup()
                if not self._news.wait_for(lambda: all(batch.is_published for batch in batches), timeout_s):
                    raise TimeoutError(f"flush() took longer than {timeout_s} s")
            finally:
                self._core.end_flush()
                self._metrics.record("flush-time-ns", monotonic_ns() - began_ns, now_ms())

    def close(self, timeout_s: float | None = None) -> None:
        """Send what is buffered, wait for the results, end the connections; after ``timeout_s`` give the rest up.

        Idempotent. In a callback it cannot wait, and gives up at once (PRD-CLS-03, -04, -05). Raises
        IllegalStateError for a negative timeout.
        """
        if timeout_s is not None and timeout_s < 0:
            raise IllegalStateError("close() takes no negative timeout")
        on_io_thread = self._on_io_thread()
        with self._lock:
            timeout_ms = 0 if on_io_thread else None if timeout_s is None else round(timeout_s * 1000)
            self._core.close(now_ms(), timeout_ms)
            self._news.notify_all()
        self._wakeup()
        if on_io_thread:
            return
        self._thread.join(None if timeout_s is None else timeout_s + CALLBACK_GRACE_S)
        if self._thread.is_alive():  # a callback holds it
            with self._lock:
                self._core.force_close(now_ms())
            logger.warning(
                "the I/O thread of %s is held by a callback; close() goes on", self.config.client_id
            )

    def __enter__(self) -> KafkaProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close(timeout_s=0 if kind and not issubclass(kind, Exception) else None)

    # the I/O thread

    def _on_io_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        """Rounds until the core is closed; what breaks a round is our defect, is logged, and ends the producer."""
        assert self._selector is not None
        try:
            while not self._core.is_closed:
                with self._lock:
                    deadline_ms = self._core.run_once(now_ms())
                self._publish()
                if not self._core.is_closed:
                    self._selector.wait(_seconds_until(deadline_ms))
        except Exception:
            logger.exception("the I/O thread of %s failed", self.config.client_id)
            with self._lock:
                self._core.force_close(now_ms())
        finally:
            with self._lock:
                self._is_over = True
            self._publish()
            self._selector.close_all()
            self._plugins.close()

    def _publish(self) -> None:
        """Callbacks run outside the lock; then whoever waits may look again."""
        self._core.publish(now_ms())
        while self._later:
            contained(self._later.popleft())
        with self._lock:
            self._news.notify_all()
        self._waiting.run_done()

    def _trace(self, event: TraceEvent) -> None:
        self._metrics(event)
        if self._user_trace is not None:
            self._user_trace(event)


def _resolvable(config: ProducerConfig, selector: SocketSelector) -> tuple[Any, ...]:
    """The bootstrap servers that have an address; raises ConfigException where none has (CLI-CFG-07)."""
    found = []
    for node in config.bootstrap:
        if selector.resolve(node.host, node.port):
            found.append(node)
        else:
            logger.warning("bootstrap.servers: %s:%d has no address, it is passed over", node.host, node.port)
    if not found:
        raise ConfigException("bootstrap.servers: not one of the entries has an address")
    return tuple(found)


def _seconds_until(deadline_ms: int | None) -> float | None:
    if deadline_ms is None:
        return None
    return min(max(deadline_ms * 1_000_000 - monotonic_ns(), 0) / 1e9, LONGEST_WAIT_S)
