"""KafkaConsumer: the consumer's core on real sockets, with Java's methods, settings and metrics.

One thread at a time uses it. ``wakeup`` and ``metrics`` may be called from any thread.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from re import Pattern
from time import time_ns
from types import TracebackType
from typing import Any

from clients.reference.config.config_keys import NEWEST
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer import CLOSE_TIMEOUT_MS, ConsumerCore
from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.reference.consumer.coordinator.generation import ConsumerGroupMetadata
from clients.reference.consumer.coordinator.group_member import DEFAULT
from clients.reference.consumer.coordinator.offset_commits import OffsetCommitCallback
from clients.reference.consumer.coordinator.rebalance_listener import ConsumerRebalanceListener
from clients.reference.consumer.offsets.list_offsets import OffsetAndTimestamp
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.reference.errors import IllegalStateError
from clients.reference.metadata.metadata import PartitionMetadata
from clients.reference.network.memory_pool import MemoryPool
from clients.reference.network.sasl import authenticators
from clients.reference.telemetry.metrics import MetricName
from clients.reference.telemetry.trace import Trace, no_trace
from clients.reference.transport.consumer_driver import ConsumerDriver
from clients.reference.transport.consumer_measures import ConsumerMeasures
from clients.reference.transport.io_thread import now_ms
from clients.reference.transport.kafka_producer import resolvable
from clients.reference.transport.selector import SocketSelector

_numbers = count(1)
NS_PER_MS = 1_000_000
Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class KafkaConsumer:
    """Reads records from Kafka. A context manager that closes it. Partitions are (topic, number) pairs.

    ``settings`` have the Java client's names, ranges and rules. ``defaults_of`` is the release whose defaults apply.
    Settings for plug-ins accept an object, a class, "module:Class" or the name of a Java class. ``trace`` is called
    from the thread that uses the consumer and from its background thread, and must be fast. ``seed`` makes backoffs
    repeatable. ``memory_pool`` limits the memory of responses that are being received, without a limit by default, as
    in Java.

    A limit ``timeout_s`` of None is default.api.timeout.ms. At its end a call raises the consumer's TimeoutError.
    Every method but ``wakeup`` and ``metrics`` raises ConcurrentModificationError if another thread is in the
    consumer, and IllegalStateError after ``close``.

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
        self.config = config = made.config.from_mapping(settings, defaults_of=defaults_of, number=number)
        self._plugins = made.plugins(config)
        selector: SocketSelector | None = None
        dice = random.Random(seed)
        self._measures = ConsumerMeasures(config, trace)
        try:
            selector = SocketSelector(
                config.send_buffer_bytes, config.receive_buffer_bytes, authenticators(config), memory_pool
            )
            self._core = ConsumerCore(
                replace(config, bootstrap=resolvable(config)),
                selector,
                jitter=lambda: dice.uniform(-1, 1),
                wall_ms=lambda: time_ns() // NS_PER_MS,
                now_ms=now_ms(),
                trace=self._measures.trace,
                components=components,
                plugins=self._plugins,
            )
            self._measures.observe(self._core, self._plugins.reporters)
        except BaseException:
            self._plugins.close()
            if selector is not None:
                selector.close_all()
            raise
        self._driver = ConsumerDriver(
            config.client_id, self._core, selector, max(config.retry_backoff_ms, 1), self._measures.fold
        )
        self._driver.start()

    # Subscribing

    def subscribe(
        self, topics: Iterable[str] | Pattern[str], listener: ConsumerRebalanceListener | None = None
    ) -> None:
        """Subscribe to topics, or to those whose whole name matches a pattern. It replaces an earlier subscription.

        Without topics, unsubscribe. ``listener`` learns of rebalances. Raise InvalidGroupIdError without a group.id,
        IllegalStateError if the consumer has another kind of subscription (CSM-API-01).
        """
        if isinstance(topics, Pattern):
            pattern = topics
            self._driver.now(lambda: self._core.subscribe_pattern(pattern, listener))
        elif isinstance(topics, str):
            raise IllegalStateError("topics-as-text", "subscribe() takes several topics, not one text")
        else:
            self._driver.run_call(self._core.subscribe(topics, listener))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions without a group's assignment. Without partitions, unsubscribe (CSM-API-01)."""
        self._driver.run_call(self._core.assign(partitions))

    def unsubscribe(self) -> None:
        """Give up all partitions and the subscription, and leave the group."""
        self._driver.run_call(self._core.unsubscribe())

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that the consumer reads."""
        return self._driver.now(lambda: self._core.assignment)

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics. Empty if the application assigned the partitions."""
        return self._driver.now(lambda: self._core.subscription)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Return no records of partitions until ``resume``. Raise IllegalStateError if one is not assigned."""
        self._driver.now(lambda: self._core.pause(partitions))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """End the pause of partitions. Raise IllegalStateError if one is not assigned."""
        self._driver.now(lambda: self._core.resume(partitions))

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        return self._driver.now(lambda: self._core.paused)

    # Records

    def poll(self, timeout_s: float) -> ConsumerRecords:
        """Return records, or none after ``timeout_s`` or as soon as a position moved without any (CSM-API-02).

        The listener, the callbacks of commits, deserializers and interceptors run in here, on this thread. Raise
        IllegalStateError without a subscription or an assignment, WakeupError, RecordDeserializationError,
        NoOffsetForPartitionError, and what ends a membership, such as FencedInstanceIdError.
        """
        timeout_ms = _milliseconds(timeout_s)
        with self._driver.use, self._measures.polling():
            return self._driver.run_call(self._core.poll(timeout_ms or 0))

    def wakeup(self) -> None:
        """Let the current or the next call that waits raise WakeupError. May be called from any thread (CSM-WKP-01)."""
        self._core.wakeup()
        self._driver.wake()

    # Commits

    def commit_sync(self, offsets: Offsets | None = None, timeout_s: float | None = None) -> None:
        """Commit ``offsets``, by default what was consumed, and wait for the result (CSM-OFC-01).

        Raise CommitFailedError if the member is no longer in the group, RebalanceInProgressError during a rebalance.
        """
        with self._driver.use, self._measures.timing("commit-sync-time-ns"):
            self._driver.run_call(self._core.commit_sync(offsets, _milliseconds(timeout_s)))

    def commit_async(
        self, offsets: Offsets | None = None, callback: OffsetCommitCallback | None = None
    ) -> None:
        """Commit ``offsets``, by default what was consumed, without waiting for the result (CSM-OFC-02).

        ``callback(offsets, error)`` runs in a later call of the consumer. ``error`` is None after success.
        """
        self._driver.run_call(self._core.commit_async(offsets, callback))

    def committed(
        self, partitions: Collection[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offset of each partition, None for a partition without one (CSM-OFC-06)."""
        with self._driver.use, self._measures.timing("committed-time-ns"):
            return self._driver.run_call(self._core.committed(partitions, _milliseconds(timeout_s)))

    # Positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read a partition from ``offset`` on, from the next poll (CSM-API-06)."""
        self._driver.now(lambda: self._core.seek(partition, offset))

    def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read partitions, by default all, from their first record."""
        self._driver.now(lambda: self._core.seek_to_beginning(partitions))

    def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read partitions, by default all, from their end."""
        self._driver.now(lambda: self._core.seek_to_end(partitions))

    def position(self, partition: TopicPartition, timeout_s: float | None = None) -> int:
        """Return the offset of the next record. Raise IllegalStateError if the partition is not assigned."""
        return self._driver.run_call(self._core.position(partition, _milliseconds(timeout_s)))

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Return how many offsets are left to read, or None if that is not known. Never waits."""
        return self._driver.run_call(self._core.current_lag(partition))

    # Lookups

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a Unix time of each partition, None if there is none."""
        return self._driver.run_call(self._core.offsets_for_times(times_ms, _milliseconds(timeout_s)))

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset that the log of each partition still has."""
        return self._driver.run_call(self._core.beginning_offsets(partitions, _milliseconds(timeout_s)))

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition that can be read."""
        return self._driver.run_call(self._core.end_offsets(partitions, _milliseconds(timeout_s)))

    def partitions_for(self, topic: str, timeout_s: float | None = None) -> dict[int, PartitionMetadata]:
        """Return a topic's partitions by number, with leader, epoch and replicas. Empty if it does not exist."""
        return self._driver.run_call(self._core.partitions_for(topic, _milliseconds(timeout_s)))

    def list_topics(self, timeout_s: float | None = None) -> dict[str, dict[int, PartitionMetadata]]:
        """Return the partitions of every topic that the client may see."""
        return self._driver.run_call(self._core.list_topics(_milliseconds(timeout_s)))

    # Group

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return what a producer needs to commit this consumer's offsets in a transaction."""
        return self._driver.now(lambda: self._core.group_metadata)

    def enforce_rebalance(self, reason: str = "the application asked for a rebalance") -> None:
        """Join the group again in the next poll."""
        self._driver.now(lambda: self._core.enforce_rebalance(reason))

    def metrics(self) -> dict[MetricName, float]:
        """Return all current metrics by the Java client's names (units: ConsumerMetrics.read), even after close.

        Never waits. May be called from any thread.
        """
        return self._measures.read()

    # Close

    def close(self, timeout_s: float = CLOSE_TIMEOUT_MS / 1000, operation: str = DEFAULT) -> None:
        """Commit if that is automatic, give the partitions up, leave the group, close the connections (CSM-API-05).

        It takes at most ``timeout_s``, and the time of the application's callbacks. ``operation`` is "default" (a
        static member stays), "leave-group" or "remain-in-group" (KIP-1092). Idempotent. Raise ConsumerError if a part
        of it failed, after the rest of it was done.
        """
        if self._core.is_closed:
            return
        try:
            self._driver.run_call(self._core.close(_milliseconds(timeout_s) or 0, operation))
        finally:
            if self._core.is_closed:
                self._driver.end()
                self._plugins.close()

    def __enter__(self) -> KafkaConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _milliseconds(timeout_s: float | None) -> int | None:
    return None if timeout_s is None else round(timeout_s * 1000)
