"""Blocking: where application threads wait for the core. They release the lock and check again after every round.

Like Kafka's, they block in ``send``, ``partitions_for`` and the calls of transactions for at most max.block.ms in all,
and in ``flush``.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

from clients.reference.errors import BufferExhaustedError, ProducerClosedError
from clients.reference.errors import TimeoutError as RequestTimeoutError
from clients.reference.metadata.metadata import TopicMetadata
from clients.reference.producer.producer import ProducerCore
from clients.reference.producer.send_handle import Delivery
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.telemetry.metrics import NS_PER_MS
from clients.reference.telemetry.producer_metrics import ProducerMetrics
from clients.reference.transport.io_thread import LONGEST_WAIT_S, IoThread, now_ms
from clients.reference.transport.wakeup import WakeupCondition
from harness.model.verdicts import Outcome


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
            raise RequestTimeoutError(
                "topic-not-in-metadata",
                "topic {topic!r} did not appear in metadata within {max_block_ms} ms",
                topic=topic,
                max_block_ms=self._max_block_ms,
            )
        return known

    def until_completed(self, begin: Callable[[int], TransactionalRequestResult], sensor: str) -> None:
        """Begin a call of transactions, and wait for its result. ``sensor`` is the metric of successful calls.

        Raise what ``begin`` raises, TransactionError if the call failed, and the client's TimeoutError after
        max.block.ms: the outcome is unknown then, and the same call must be repeated (PRD-TXN-13).
        """
        began_ns = monotonic_ns()
        with self._news:
            result = begin(now_ms())
            self._thread.wake()
            if not self._news.wait_for(lambda: result.is_completed, self._max_block_ms / 1000):
                raise RequestTimeoutError(
                    "call-timed-out",
                    "{method}() took longer than max.block.ms ({max_block_ms} ms): repeat it",
                    outcome=Outcome.INFO,
                    method=result.operation,
                    max_block_ms=self._max_block_ms,
                )
            result.take()
            self.measured(sensor, began_ns)

    def measured(self, sensor: str, began_ns: int) -> None:
        """Record the time of a call that began at ``began_ns`` and has succeeded. The caller holds the lock."""
        self._metrics.record(sensor, monotonic_ns() - began_ns, now_ms())

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
                self.measured("flush-time-ns", began_ns)
