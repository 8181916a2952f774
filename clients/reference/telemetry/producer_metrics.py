"""The producer's metrics, by the Java client's names: a fold over trace events, and gauges read from the core.

Not implemented, beside what metrics.py lists: record-size-avg and -max, bufferpool-wait-ratio, and
txn-prepare-time-ns-total, which belongs to two-phase commit (KIP-939).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Final

from clients.reference.telemetry.metric_stats import METER, RANGE
from clients.reference.telemetry.metrics import (
    CONNECTIONS,
    NS_PER_MS,
    REQUESTS,
    ClientMetrics,
    MetricName,
    Scope,
    node_tags,
    topic_tags,
)
from clients.reference.telemetry.trace import (
    BatchEnded,
    BatchRetried,
    BatchSent,
    BatchSplit,
    MetadataUpdated,
    RequestLost,
    RequestSent,
    ResponseReceived,
    SendUnblocked,
)


@dataclass(frozen=True, slots=True)
class Gauges:
    """The state of the core's buffer.memory pool."""

    buffer_available_bytes: int
    buffer_total_bytes: int
    buffer_peak_bytes: int
    waiting_threads: int


CLIENT: Final = Scope(
    "producer-metrics",
    {
        "batch-size": RANGE,
        "compression-rate": ("avg",),
        "record-queue-time": RANGE,
        "record-send": METER,
        "record-retry": METER,
        "record-error": METER,
        "records-per-request": ("avg",),
        "batch-split": METER,
        "request-latency": RANGE,
        **REQUESTS,
        **CONNECTIONS,
        "produce-throttle-time": RANGE,
        "buffer-exhausted": METER,
        "bufferpool-wait-time-ns": ("total",),
        "metadata-wait-time-ns": ("total",),
        "flush-time-ns": ("total",),
        "txn-init-time-ns": ("total",),
        "txn-begin-time-ns": ("total",),
        "txn-send-offsets-time-ns": ("total",),
        "txn-commit-time-ns": ("total",),
        "txn-abort-time-ns": ("total",),
    },
)
NODE: Final = Scope("producer-node-metrics", {**REQUESTS, "request-latency": RANGE}, node_tags)
TOPIC: Final = Scope(
    "producer-topic-metrics",
    {
        "record-send": METER,
        "record-retry": METER,
        "record-error": METER,
        "byte": METER,
        "compression-rate": ("avg",),
    },
    topic_tags,
)


class ProducerMetrics(ClientMetrics):
    """``acks`` is the setting's value. With 0, a Produce request has no response and is completed when it is sent."""

    def __init__(
        self,
        client_id: str,
        *,
        window_ms: int = 30_000,
        samples: int = 2,
        acks: int = -1,
        added: Callable[[MetricName], None] = lambda name: None,
    ) -> None:
        super().__init__(client_id, CLIENT, NODE, window_ms=window_ms, samples=samples, added=added)
        self._unanswered = "Produce" if acks == 0 else ""
        self._records_in_request = 0
        self._in_flight = 0
        self._metadata_ms: int | None = None
        self._handlers |= {
            BatchSent: self._batch_sent,
            BatchRetried: self._batch_retried,
            BatchSplit: self._batch_split,
            BatchEnded: self._batch_ended,
            MetadataUpdated: self._metadata_updated,
            RequestLost: self._request_lost,
            SendUnblocked: self._send_unblocked,
        }

    def names(self) -> list[MetricName]:
        """Return the names of all current metrics."""
        return self._names(_GAUGE_NAMES)

    def read(self, gauges: Gauges, now_ms: int) -> dict[MetricName, float]:
        """Return all values: times in ms (but metadata-age in s, -ns-total in ns), sizes in bytes, rates per second."""
        self._request_ended(now_ms)
        more = {name: read(gauges) for name, read in _GAUGES.items()}
        more["requests-in-flight"] = float(self._in_flight)
        more["metadata-age"] = nan if self._metadata_ms is None else (now_ms - self._metadata_ms) / 1000
        return self._values(now_ms) | self._gauges(CLIENT, more)

    # Events

    def _batch_sent(self, event: BatchSent) -> None:
        topic, at_ms = _topic(event.batch), event.at_ms
        client, of_topic = self._client, self._of(TOPIC, topic)
        client["batch-size"].record(event.size_bytes, at_ms)
        client["record-queue-time"].record(event.queue_time_ms, at_ms)
        self._records_in_request += event.record_count
        of_topic["byte"].record(event.size_bytes, at_ms)
        for sensors in (client, of_topic):
            sensors["record-send"].record(event.record_count, at_ms)
            if event.uncompressed_bytes:
                sensors["compression-rate"].record(event.size_bytes / event.uncompressed_bytes, at_ms)

    def _batch_retried(self, event: BatchRetried) -> None:
        for sensors in (self._client, self._of(TOPIC, _topic(event.batch))):
            sensors["record-retry"].record(event.record_count, event.at_ms)

    def _batch_split(self, event: BatchSplit) -> None:
        self.record("batch-split", 1, event.at_ms)

    def _batch_ended(self, event: BatchEnded) -> None:
        if event.error:
            for sensors in (self._client, self._of(TOPIC, _topic(event.batch))):
                sensors["record-error"].record(event.record_count, event.at_ms)

    def _metadata_updated(self, event: MetadataUpdated) -> None:
        self._metadata_ms = event.at_ms

    def _request_lost(self, event: RequestLost) -> None:
        self._in_flight -= event.api != self._unanswered

    def _request_sent(self, event: RequestSent) -> None:
        self._request_ended(event.at_ms)
        self._in_flight += event.api != self._unanswered
        super()._request_sent(event)

    def _request_ended(self, at_ms: int) -> None:
        """Record the records per request. A Produce request's RequestSent is followed by one BatchSent per batch."""
        if self._records_in_request:
            self.record("records-per-request", self._records_in_request, at_ms)
            self._records_in_request = 0

    def _response_received(self, event: ResponseReceived) -> None:
        self._in_flight -= 1
        super()._response_received(event)
        if event.api == "Produce":
            self.record("produce-throttle-time", event.throttle_ms, event.at_ms)
        for sensors in (self._client, self._of(NODE, str(event.node))):
            sensors["request-latency"].record(event.latency_ms, event.at_ms)

    def _send_unblocked(self, event: SendUnblocked) -> None:
        sensor = "metadata-wait-time-ns" if event.waited_for == "metadata" else "bufferpool-wait-time-ns"
        self.record(sensor, event.waited_ms * NS_PER_MS, event.at_ms)


_GAUGES: Mapping[str, Callable[[Gauges], float]] = {
    "buffer-available-bytes": lambda gauges: gauges.buffer_available_bytes,
    "buffer-total-bytes": lambda gauges: gauges.buffer_total_bytes,
    "buffer-peak-bytes": lambda gauges: gauges.buffer_peak_bytes,  # not in Java
    "waiting-threads": lambda gauges: gauges.waiting_threads,
}
_GAUGE_NAMES = (*_GAUGES, "requests-in-flight", "metadata-age")


def _topic(batch: str) -> str:
    """Return the topic of a batch's name, ``topic-partition#number``."""
    return batch.rpartition("#")[0].rpartition("-")[0]
