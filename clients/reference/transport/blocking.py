"""Blocking: where application threads wait for the core. They release the lock and check again after every round.

Like Kafka's, they block in ``send`` and ``partitions_for`` for at most max.block.ms in all, and in ``flush``.
"""

from __future__ import annotations

from time import monotonic_ns

from clients.reference.errors import BufferExhaustedError, ProducerClosedError
from clients.reference.errors import TimeoutError as MetadataTimeoutError
from clients.reference.metadata.metadata import TopicMetadata
from clients.reference.producer.producer import ProducerCore
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.metrics import NS_PER_MS
from clients.reference.telemetry.producer_metrics import ProducerMetrics
from clients.reference.transport.io_thread import LONGEST_WAIT_S, IoThread, now_ms
from clients.reference.transport.wakeup import WakeupCondition


class Blocking:
    """The waits of one producer. ``news`` holds the lock, and ``metrics`` records how long the waits were."""

    def __init__(
        self,
        core: ProducerCore,
        thread: IoThread,
        news: WakeupCondition,
        metrics: ProducerMetrics,
        max_block_ms: int,
    ) -> None:
        self._core = core
        self._thread = thread
        self._news = news
        self._metrics = metrics
        self._max_block_ms = max_block_ms

    def until_admitted(self, delivery: Delivery) -> None:
        """Wait until a record blocked on metadata or memory is in a batch or has failed. The caller holds the lock."""
        self._news.wait_for(lambda: not delivery.is_blocked)
        if isinstance(delivery.failure, BufferExhaustedError):
            self._metrics.record("buffer-exhausted", 1, now_ms())

    def until_known(self, topic: str, since_ms: int) -> TopicMetadata:
        """Return a topic's metadata once it is known. Raise the SendError that fails a send waiting for it.

        The I/O thread never waits.
        """
        began_ms = now_ms()
        with self._news:
            while True:
                if not self._core.is_open:
                    raise ProducerClosedError(
                        "producer-closed", "the producer was closed while waiting for metadata"
                    )
                known = self._core.topic_metadata(topic, now_ms())
                left_ms = 0 if self._thread.is_current() else since_ms + self._max_block_ms - now_ms()
                if known is not None or left_ms <= 0:
                    break
                self._thread.wake()
                self._news.wait(min(left_ms / 1000, LONGEST_WAIT_S))
            self._metrics.record("metadata-wait-time-ns", (now_ms() - began_ms) * NS_PER_MS, now_ms())
        if known is None:
            raise MetadataTimeoutError(
                "topic-not-in-metadata",
                "topic {topic!r} did not appear in metadata within {max_block_ms} ms",
                topic=topic,
                max_block_ms=self._max_block_ms,
            )
        return known

    def until_flushed(self, timeout_s: float | None) -> bool:
        """Wait until all that is buffered has its results (PRD-CLS-01). Return False on timeout."""
        began_ns = monotonic_ns()
        with self._news:
            batches = self._core.begin_flush()
            try:
                self._thread.wake()
                return self._news.wait_for(lambda: all(batch.is_published for batch in batches), timeout_s)
            finally:
                self._core.end_flush()
                self._metrics.record("flush-time-ns", monotonic_ns() - began_ns, now_ms())
