"""ConsumerMeasures: the metrics of a consumer in use, with the times that only its transport knows.

Events wait until a round or a call of the consumer has ended, and are folded together. A lock of its own makes
``read`` possible from any thread, also while a call waits for the network.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic_ns

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.telemetry.consumer_metrics import ConsumerMetrics
from clients.reference.telemetry.metrics import MetricName
from clients.reference.telemetry.reporters import Reporters
from clients.reference.telemetry.trace import Trace, TraceEvent, no_trace
from clients.reference.transport.io_thread import now_ms


class ConsumerMeasures:
    """``trace`` is for the core. It also passes each event to the application's ``user_trace``."""

    def __init__(self, config: ConsumerConfig, user_trace: Trace) -> None:
        self._metrics = ConsumerMetrics(
            config.client_id,
            None if config.group_id is None else config.group_protocol,
            window_ms=config.metrics_sample_window_ms,
            samples=config.metrics_num_samples,
        )
        self._lock = threading.RLock()
        self._events: deque[TraceEvent] = deque()
        self._user_trace = user_trace
        self.trace: Trace = self._events.append if user_trace is no_trace else self._both
        self._core: ConsumerCore | None = None
        self._assignment_id = 0

    def _both(self, event: TraceEvent) -> None:
        self._events.append(event)
        self._user_trace(event)

    def observe(self, core: ConsumerCore, reporters: Reporters) -> None:
        """Begin to read the gauges of ``core``, and to tell ``reporters``. Raise PluginError if one fails."""
        self._core = core
        reporters.made(self._metrics.names(), self.read)
        self._metrics.added, self._metrics.removed = reporters.added, reporters.removed

    def fold(self) -> None:
        """Add the events of a round or call to the metrics. The caller holds the lock of the core."""
        with self._lock:
            self._metrics.fold(self._events)
            core = self._core
            if core is not None and core.assignment_id != self._assignment_id:
                self._assignment_id = core.assignment_id
                self._metrics.assigned(core.read_replicas())

    def read(self) -> dict[MetricName, float]:
        """Return the values of all metrics."""
        with self._lock:
            self._metrics.fold(self._events)
            replicas = {} if self._core is None else self._core.read_replicas()
            return self._metrics.read(replicas, now_ms())

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Measure a call of poll()."""
        began_ms = now_ms()
        with self._lock:
            self._metrics.poll_began(began_ms)
        try:
            yield
        finally:
            with self._lock:
                self._metrics.poll_ended(began_ms, now_ms())

    @contextmanager
    def timing(self, sensor: str) -> Iterator[None]:
        """Add the time of a call to a sensor in ns."""
        began_ns = monotonic_ns()
        try:
            yield
        finally:
            with self._lock:
                self._metrics.record(sensor, monotonic_ns() - began_ns, now_ms())
