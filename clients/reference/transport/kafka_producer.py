"""KafkaProducer: the core behind one lock, driven by one I/O thread on real sockets.

The thread takes the lock for each round and lets it go to wait and to run callbacks, so a slow callback delays the
thread but blocks nobody in ``send``. Application threads take the lock for an append; they block only where Kafka's
do: for metadata or memory (max.block.ms), in ``flush``, ``close`` and a future's ``result``.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from clients.reference.config import ProducerConfig
from clients.reference.delivery import Delivery
from clients.reference.errors import IllegalStateError, SendError
from clients.reference.producer import Components, ProducerCore
from clients.reference.producer_batch import Callback, Headers, ProducerBatch, RecordMetadata
from clients.reference.trace import Trace, no_trace
from clients.reference.transport.selector import SocketSelector

logger = logging.getLogger("kafka-trial.reference")


def now_ms() -> int:
    """The core's clock: monotonic, whole milliseconds."""
    return time.monotonic_ns() // 1_000_000


class RecordFuture:
    """One record's result, a slice of its batch's."""

    __slots__ = ("_delivery", "_news")

    def __init__(self, delivery: Delivery, news: threading.Condition) -> None:
        self._delivery = delivery
        self._news = news

    def done(self) -> bool:
        return self._delivery.is_done

    def exception(self, timeout_s: float | None = None) -> SendError | None:
        """Wait for the result; gives the error of a record that was not acknowledged."""
        self._wait(timeout_s)
        return self._delivery.error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the result; raises the SendError of a record that was not acknowledged, and the built-in
        TimeoutError where there is no result within ``timeout_s``."""
        error = self.exception(timeout_s)
        if error:
            raise error
        return self._delivery.metadata

    def _wait(self, timeout_s: float | None) -> None:
        if self._delivery.is_done:
            return
        with self._news:
            if not self._news.wait_for(lambda: self._delivery.is_done, timeout_s):
                raise TimeoutError(f"no result within {timeout_s} s")


class KafkaProducer:
    """Sends records to Kafka; settings have the Java client's names. Thread-safe; a context manager.

    ``trace`` is called from the I/O thread and from senders, under the producer's lock: it must be quick.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        trace: Trace = no_trace,
        components: Components | None = None,
        seed: int | None = None,
    ) -> None:
        self.config = ProducerConfig.from_mapping(settings)
        dice = random.Random(seed)
        self._selector = SocketSelector(self.config.send_buffer_bytes, self.config.receive_buffer_bytes)
        self._core = ProducerCore(
            self.config,
            self._selector,
            jitter=lambda: dice.uniform(-1, 1),
            trace=trace,
            components=components,
        )
        self._news = threading.Condition(threading.RLock())
        self._thread = threading.Thread(
            target=self._run, name=f"kafka-producer {self.config.client_id}", daemon=True
        )
        self._thread.start()

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Append a record; blocks for metadata or memory for at most max.block.ms.

        The result is the future's; ``callback(metadata, error)`` runs on the I/O thread. Raises IllegalStateError
        after close, UsageError for a negative partition or timestamp. A send from a callback never blocks.
        """
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        with self._news:
            delivery, wake = self._core.send(
                topic,
                key,
                value,
                timestamp_ms=timestamp_ms,
                now_ms=now_ms(),
                partition=partition,
                headers=headers,
                callback=callback,
            )
            if wake:
                self._selector.wakeup()
            if delivery.is_blocked and not self._on_io_thread():
                self._news.wait_for(lambda: not delivery.is_blocked)
        return RecordFuture(delivery, self._news)

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything that is buffered and wait until it has its results (PRD-CLS-01).

        Raises the built-in TimeoutError after ``timeout_s``, IllegalStateError in a callback (PRD-CLS-02).
        """
        if self._on_io_thread():
            raise IllegalStateError("flush() must not be called from a callback: it would wait for itself")
        with self._news:
            batches = self._core.begin_flush()
            try:
                self._selector.wakeup()
                if not self._news.wait_for(lambda: all(map(_is_published, batches)), timeout_s):
                    raise TimeoutError(f"flush() took longer than {timeout_s} s")
            finally:
                self._core.end_flush()

    def close(self, timeout_s: float | None = None) -> None:
        """Send what is buffered, wait for the results, end the connections; after ``timeout_s`` give the rest up.

        Idempotent. In a callback it cannot wait, and gives up at once (PRD-CLS-04).
        """
        if timeout_s is not None and timeout_s < 0:
            raise IllegalStateError("close() takes no negative timeout")
        on_io_thread = self._on_io_thread()
        with self._news:
            timeout_ms = 0 if on_io_thread else None if timeout_s is None else round(timeout_s * 1000)
            self._core.close(now_ms(), timeout_ms)
        self._selector.wakeup()
        if not on_io_thread:
            self._thread.join()

    def __enter__(self) -> KafkaProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close(timeout_s=0 if kind and not issubclass(kind, Exception) else None)

    def _on_io_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        """Rounds until the core is closed; what breaks a round is our defect, is logged, and ends the producer."""
        try:
            while not self._core.is_closed:
                with self._news:
                    deadline_ms = self._core.run_once(now_ms())
                self._publish()
                if not self._core.is_closed:
                    self._selector.wait(_seconds_until(deadline_ms))
        except Exception:
            logger.exception("the I/O thread of %s failed", self.config.client_id)
            with self._news:
                self._core.force_close(now_ms())
        finally:
            self._publish()
            self._selector.close_all()

    def _publish(self) -> None:
        """Callbacks run outside the lock; then whoever waits may look again."""
        self._core.publish(now_ms())
        with self._news:
            self._news.notify_all()


def _is_published(batch: ProducerBatch) -> bool:
    return batch.is_published


def _seconds_until(deadline_ms: int | None) -> float | None:
    if deadline_ms is None:
        return None
    return max(deadline_ms * 1_000_000 - time.monotonic_ns(), 0) / 1e9
