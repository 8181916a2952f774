"""KafkaProducer: the core behind one lock, driven by one I/O thread on real sockets.

Application threads take the lock for an append. They block only where Kafka's do: for metadata or memory
(max.block.ms), in ``flush``, ``close``, ``partitions_for`` and a future's ``result``.
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
from time import monotonic, time_ns
from types import TracebackType
from typing import Any, cast

from clients.reference.config.client_config import ClientConfig
from clients.reference.config.config_keys import NEWEST
from clients.reference.errors import ConfigException, IllegalStateError
from clients.reference.metadata.metadata import PartitionMetadata
from clients.reference.network.memory_pool import MemoryPool
from clients.reference.network.node_addresses import every_address
from clients.reference.network.sasl import authenticators
from clients.reference.ports import Node
from clients.reference.producer.interceptors import Acknowledgement, ProducerRecord
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.producer.producer_batch import Callback, Headers
from clients.reference.telemetry.metrics import MetricName
from clients.reference.telemetry.producer_metrics import Gauges, ProducerMetrics
from clients.reference.telemetry.trace import Trace, TraceEvent, no_trace
from clients.reference.transport.blocking import Blocking
from clients.reference.transport.event_log import EventLog
from clients.reference.transport.io_thread import IoThread, now_ms
from clients.reference.transport.plugged_sends import PluggedSends
from clients.reference.transport.record_future import RecordFuture, Waiting
from clients.reference.transport.selector import SocketSelector, look_up
from clients.reference.transport.transactions import TransactionalProducer
from clients.reference.transport.wakeup import WakeupCondition
from harness.model.errors import UsageError

logger = logging.getLogger("kafka-trial.reference")

_numbers = count(1)
CALLBACK_GRACE_S = 1.0


class KafkaProducer(TransactionalProducer):
    """Sends records to Kafka. Thread-safe. A context manager that closes it. Each producer has one I/O thread.

    ``settings`` have the Java client's names, ranges and rules. ``defaults_of`` is the release whose defaults apply.
    Settings for plug-ins accept an object, a class or "module:Class". ``trace`` is called from the I/O thread and from
    senders, under the producer's lock, so it must be fast. ``seed`` makes backoffs and sticky partitions repeatable.
    ``memory_pool`` limits the memory of responses that are being received, without a limit by default, as in Java.

    Raise ConfigException if settings contradict each other or no bootstrap server has an address, UsageError for an
    unknown setting, PluginError if a plug-in cannot be created.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        defaults_of: str = NEWEST,
        trace: Trace = no_trace,
        components: Components | None = None,
        seed: int | None = None,
        memory_pool: MemoryPool | None = None,
    ) -> None:
        number = 0 if "client.id" in settings else next(_numbers)
        made = components or Components()
        self.config = made.config.from_mapping(settings, defaults_of=defaults_of, number=number)
        self._plugins = made.plugins(self.config)
        selector: SocketSelector | None = None
        try:
            selector = SocketSelector(
                self.config.send_buffer_bytes,
                self.config.receive_buffer_bytes,
                authenticators(self.config),
                memory_pool,
            )
            self._open(selector, trace, components, random.Random(seed))
        except BaseException:
            self._plugins.close()
            if selector is not None:
                selector.close_all()
            raise
        self._thread.start()

    def _open(
        self, selector: SocketSelector, trace: Trace, components: Components | None, dice: random.Random
    ) -> None:
        config, plugins = self.config, self._plugins
        self._metrics = ProducerMetrics(
            config.client_id,
            window_ms=config.metrics_sample_window_ms,
            samples=config.metrics_num_samples,
            acks=config.acks,
        )
        self._lock = threading.RLock()
        self._take_lock, self._release_lock = self._lock.acquire, self._lock.release
        self._news = WakeupCondition(self._lock)
        waiting = Waiting(self._news)
        self._user_trace = trace
        self._events: deque[TraceEvent] = deque()
        self._core = ProducerCore(
            replace(config, bootstrap=resolvable(config)),
            selector,
            jitter=lambda: dice.uniform(-1, 1),
            trace=self._events.append if trace is no_trace else self._trace,
            components=components,
            new_delivery=RecordFuture,
            owner=waiting,
        )
        self._core_send = cast("Callable[..., tuple[RecordFuture, bool]]", self._core.send)
        self._send_plain = cast("Callable[..., RecordFuture | None]", self._core.send_plain)
        self._tick()
        self._log = EventLog(config.client_id, logger)
        self._thread = IoThread(
            config.client_id,
            self._core,
            selector,
            self._news,
            waiting,
            self._measure,
            self._log.write,
            plugins.close,
        )
        self._blocking = Blocking(self._core, self._thread, self._news, self._metrics, config.max_block_ms)
        self._touches_records = plugins.touch_records
        self._send_record = PluggedSends(
            plugins,
            self._must_be_open,
            self._core.cluster,
            self._send_serialized,
            self._thread,
            self._blocking,
            waiting,
        ).send
        self._core.listen_for_cluster_id(plugins.cluster_updated)
        plugins.reporters.made(self._metrics.names(), self.metrics)
        self._metrics.added = plugins.reporters.added

    def _trace(self, event: TraceEvent) -> None:
        self._events.append(event)
        self._user_trace(event)

    def _measure(self) -> None:
        """Add the pending events to the metrics and to the log. The caller holds the lock."""
        self._log(self._events)
        self._metrics.fold(self._events)

    # Records

    def send(
        self,
        topic: str | ProducerRecord,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Append a record. Block for metadata or memory for at most max.block.ms, but never in a callback.

        The first argument is a topic, or a whole ProducerRecord, which takes no further argument but ``callback``.
        ``value`` and ``key`` are what their serializers accept, or bytes or None without a serializer.
        ``timestamp_ms`` is Unix time, now by default (PRD-ISP-09). The future holds the record's result.
        ``callback(metadata, error)`` runs on the I/O thread. The metadata of a record that failed has its topic, its
        partition if it is known, and otherwise -1.

        Raise IllegalStateError after close, UsageError for an invalid record, SerializationError for a value that its
        serializer rejects, and any exception of the application's partitioner. With a transactional.id, raise
        IllegalStateError outside of a transaction, and TransactionError if it must be aborted. In these cases nothing
        is buffered. All other errors fail the future.
        """
        if isinstance(topic, ProducerRecord):
            if not (value is key is partition is timestamp_ms is None and headers == ()):
                raise UsageError("record-and-fields", "send() takes a ProducerRecord or its fields, not both")
            return self._send_record(topic, callback)
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
        # Explicit acquire and release cost half as much as ``with``, which matters here. If an interrupt arrives
        # before the lock is taken or after it is released, there is nothing to release.
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
        """Read both clocks, at most once per millisecond."""
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
    ) -> RecordFuture:
        """Send with all features, and wait for metadata or memory. The caller holds the lock."""
        future, is_round_due = self._core_send(
            topic,
            key,
            value,
            timestamp_ms=timestamp_ms,
            now_ms=now_ms(),
            partition=partition,
            headers=headers,
            callback=callback,
        )
        if is_round_due:
            self._thread.wake()
            if future.is_blocked and not self._thread.is_current():
                self._blocking.until_admitted(future)
        return future

    def _send_serialized(
        self,
        record: ProducerRecord,
        partition: int | None,
        key: Any,
        value: Any,
        timestamp_ms: int,
        end: Acknowledgement,
    ) -> RecordFuture:
        with self._lock:
            return self._send_whole(record.topic, key, value, timestamp_ms, partition, record.headers, end)

    # The cluster

    def partitions_for(self, topic: str) -> dict[int, PartitionMetadata]:
        """Return a topic's partitions by index, each with its leader's epoch and the ids of its nodes (PRD-ISP-05).

        Raise the client's TimeoutError if the topic does not appear within max.block.ms, BrokerError if it never will
        (MET-11),
        IllegalStateError after close and in a callback, which must not wait.
        """
        self._must_not_wait("partitions_for")
        self._must_be_open()
        return dict(self._blocking.until_known(topic, now_ms()).partitions)

    def _must_be_open(self) -> None:
        if not self._core.is_open:
            raise IllegalStateError("producer-is-closed", "the producer is closed")

    def _must_not_wait(self, method: str) -> None:
        if self._thread.is_current():
            raise IllegalStateError(
                "called-from-callback",
                "{method}() must not be called from a callback: it would wait for itself",
                method=method,
            )

    def metrics(self) -> dict[MetricName, float]:
        """Return all current metrics by the Java client's names (units: ProducerMetrics.read), even after close."""
        with self._lock:
            self._measure()
            pool = self._core.pool
            gauges = Gauges(pool.available_bytes, pool.total_bytes, pool.peak_bytes, pool.waiting)
            return self._metrics.read(gauges, now_ms())

    # Flush and close

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything that is buffered and wait for its results (PRD-CLS-01).

        Raise the built-in TimeoutError after ``timeout_s`` seconds, IllegalStateError in a callback (PRD-CLS-02).
        """
        self._must_not_wait("flush")
        if not self._blocking.until_flushed(timeout_s):
            raise TimeoutError(f"flush() took longer than {timeout_s} s")

    def close(self, timeout_s: float | None = None) -> None:
        """Send what is buffered, wait for the results, close the connections. After ``timeout_s``, abort the rest.

        Idempotent. In a callback it cannot wait and aborts at once (PRD-CLS-03, -04, -05). Raise IllegalStateError for
        a negative timeout.
        """
        if timeout_s is not None and timeout_s < 0:
            raise IllegalStateError("negative-timeout", "the timeout of close() must not be negative")
        in_callback = self._thread.is_current()
        with self._lock:
            timeout_ms = 0 if in_callback else None if timeout_s is None else round(timeout_s * 1000)
            self._core.close(now_ms(), timeout_ms)
            self._news.notify_all()
            self._thread.wake()
        if in_callback:
            return
        self._thread.join(None if timeout_s is None else timeout_s + CALLBACK_GRACE_S)
        if self._thread.is_alive():  # a callback blocks it
            with self._lock:
                self._core.force_close(now_ms())
            logger.warning("a callback blocks the I/O thread of %s; close() returns", self.config.client_id)

    def __enter__(self) -> KafkaProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close(timeout_s=0 if kind and not issubclass(kind, Exception) else None)


def resolvable(config: ClientConfig) -> tuple[Node, ...]:
    """Return the bootstrap servers that have an address. Raise ConfigException if none has (CLI-CFG-07).

    With client.dns.lookup=resolve_canonical_bootstrap_servers_only, return each of their addresses (KIP-235).
    """
    found = {node: look_up(node.host, node.port) for node in config.bootstrap}
    for node, addresses in found.items():
        if not addresses:
            logger.warning("bootstrap.servers: %s:%d has no address and is ignored", node.host, node.port)
    known = [node for node, addresses in found.items() if addresses]
    if not known:
        raise ConfigException(
            "bootstrap-servers-empty", "bootstrap.servers: none of the entries has an address"
        )
    if config.client_dns_lookup == "use_all_dns_ips":
        return tuple(known)
    return tuple(every_address(known, look_up))
