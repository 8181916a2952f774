"""PluggedSends: sends a record through the application's plug-ins.

Interceptors see the record first. Then it is serialized, and the application's partitioner chooses its partition. All
of this happens in the caller's thread, without the producer's lock. Cluster listeners receive the cluster's id before
that. The interceptors are notified of the result in every case (PRD-ISP-01 to -06).
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any

from clients.reference.errors import IllegalStateError, SendError
from clients.reference.producer.interceptors import Acknowledgement, ProducerRecord
from clients.reference.producer.partitioner import ClusterView
from clients.reference.producer.producer_batch import Callback, nowhere
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.reference.transport.blocking import Blocking
from clients.reference.transport.io_thread import IoThread, now_ms
from clients.reference.transport.record_future import RecordFuture, Waiting


class PluggedSends:
    """Intercepts, serializes and appends records. ``send`` appends the bytes. ``must_be_open`` raises after close."""

    def __init__(
        self,
        plugins: ProducerPlugins,
        must_be_open: Callable[[], None],
        cluster: Callable[[], ClusterView],
        send: Callable[..., RecordFuture],
        thread: IoThread,
        blocking: Blocking,
        waiting: Waiting,
    ) -> None:
        self._plugins = plugins
        self._must_be_open = must_be_open
        self._cluster = cluster
        self._send = send
        self._thread = thread
        self._blocking = blocking
        self._waiting = waiting

    def send(self, record: ProducerRecord, callback: Callback | None) -> RecordFuture:
        """Send a record. See KafkaProducer.send, which raises the same errors."""
        since_ms = now_ms()
        record = self._plugins.interceptors.on_send(record)
        end = Acknowledgement(self._plugins.interceptors, record, callback)
        try:
            self._must_be_open()
            self._wait_for_metadata(record, since_ms)
            key, value = self._plugins.serialize(record)
            partition = self._partition(record, key, value)
            timestamp_ms = record.timestamp_ms
            if timestamp_ms is None:
                timestamp_ms = time_ns() // 1_000_000
            return self._send(record, partition, key, value, timestamp_ms, end)
        except SendError as error:
            return self._failed(record, end, error)
        except Exception as error:
            self._plugins.interceptors.on_send_error(record, error)
            raise

    def _wait_for_metadata(self, record: ProducerRecord, since_ms: int) -> None:
        """Wait for the topic's metadata if a plug-in needs it. Raise SendError if it does not arrive.

        A callback cannot wait: the I/O thread that runs it is the one that would get the metadata.
        """
        partitioner = record.partition is None and self._plugins.partitioner
        if partitioner or (self._plugins.cluster_listeners and not self._thread.is_current()):
            self._blocking.until_known(record.topic, since_ms)

    def _partition(self, record: ProducerRecord, key: Any, value: Any) -> int | None:
        """Return the record's own partition, or the choice of the application's partitioner. None without one."""
        partitioner = self._plugins.partitioner
        if record.partition is not None or not partitioner:
            return record.partition
        cluster = self._cluster()
        chosen = partitioner.partition(record.topic, record.key, key, record.value, value, cluster)
        if type(chosen) is not int or not 0 <= chosen < cluster.partition_count(record.topic):
            raise IllegalStateError(
                "partition-not-of-topic",
                "the partitioner chose {chosen!r}, which topic {topic!r} does not have",
                chosen=chosen,
                topic=record.topic,
            )
        return chosen

    def _failed(self, record: ProducerRecord, end: Acknowledgement, error: SendError) -> RecordFuture:
        """Complete a send that failed before it reached the core. As for any other, callbacks run on the I/O thread."""
        self._thread.call(lambda: end(nowhere(record.topic, record.partition), error))
        return RecordFuture(record.timestamp_ms or 0, failure=error, owner=self._waiting)
