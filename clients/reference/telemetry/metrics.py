"""The producer's metrics, by the Java client's names: a fold over trace events, and gauges read from the core.

The core does not depend on metrics. ``ProducerMetrics`` is a ``Trace``: it has one method per kind of event, and the
table SENSORS lists the statistics of each sensor. Averages, maxima and rates cover metrics.num.samples windows of
metrics.sample.window.ms. Averages and maxima without a sample are nan. Not implemented: record-size-avg and -max, and
the metrics of Java's own selector (select-rate, io-time and so on).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from clients.reference.states import CONNECTION, ConnectionState
from clients.reference.telemetry.metric_stats import Sensor
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
    StateChanged,
    TraceEvent,
)

NS_PER_MS = 1_000_000
CLIENT, NODE, TOPIC = "producer-metrics", "producer-node-metrics", "producer-topic-metrics"


class MetricName(NamedTuple):
    """A metric's identity. ``tags`` are pairs such as ("client-id", "producer-1")."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Gauges:
    """The state of the core's buffer.memory pool."""

    buffer_available_bytes: int
    buffer_total_bytes: int
    buffer_peak_bytes: int
    waiting_threads: int


_METER = ("rate", "total")
_RANGE = ("avg", "max")

#: group -> sensor -> its statistics. A metric's name is sensor and statistic, joined by a hyphen.
SENSORS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    CLIENT: {
        "batch-size": _RANGE,
        "compression-rate": ("avg",),
        "record-queue-time": _RANGE,
        "record-send": _METER,
        "record-retry": _METER,
        "record-error": _METER,
        "records-per-request": ("avg",),
        "batch-split": _METER,
        "request-latency": _RANGE,
        "request-size": _RANGE,
        "request": _METER,
        "response": _METER,
        "network-io": _METER,
        "outgoing-byte": _METER,
        "incoming-byte": _METER,
        "produce-throttle-time": _RANGE,
        "connection-creation": _METER,
        "connection-close": _METER,
        "buffer-exhausted": _METER,
        "bufferpool-wait-time-ns": ("total",),
        "metadata-wait-time-ns": ("total",),
        "flush-time-ns": ("total",),
    },
    NODE: {
        "request": _METER,
        "response": _METER,
        "outgoing-byte": _METER,
        "incoming-byte": _METER,
        "request-size": _RANGE,
        "request-latency": _RANGE,
    },
    TOPIC: {
        "record-send": _METER,
        "record-retry": _METER,
        "record-error": _METER,
        "byte": _METER,
        "compression-rate": ("avg",),
    },
}


class ProducerMetrics:
    """Call it with every event. ``added`` is called with the name of each new metric.

    ``acks`` is the setting's value. With 0, a Produce request has no response and counts as completed when it is sent.
    """

    def __init__(
        self,
        client_id: str,
        *,
        window_ms: int = 30_000,
        samples: int = 2,
        acks: int = -1,
        added: Callable[[MetricName], None] = lambda name: None,
    ) -> None:
        self._client_tag = ("client-id", client_id)
        self._unanswered = "Produce" if acks == 0 else ""
        self._window_ms, self._samples, self.added = window_ms, samples, added
        self._sensors: dict[tuple[str, str], dict[str, Sensor]] = {}
        self._connected: set[str] = set()
        self._records_in_request = 0
        self._in_flight = 0
        self._metadata_ms: int | None = None
        self._of(CLIENT)
        self._handlers: dict[type[TraceEvent], Callable[..., None]] = {
            BatchSent: self._batch_sent,
            BatchRetried: self._batch_retried,
            BatchSplit: self._batch_split,
            BatchEnded: self._batch_ended,
            MetadataUpdated: self._metadata_updated,
            RequestLost: self._request_lost,
            RequestSent: self._request_sent,
            ResponseReceived: self._response_received,
            SendUnblocked: self._send_unblocked,
            StateChanged: self._state_changed,
        }

    def __call__(self, event: TraceEvent) -> None:
        """Process one event."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def fold(self, events: deque[TraceEvent]) -> None:
        """Process and remove all events. Processing them in bulk costs less than one by one."""
        handler_of = self._handlers.get
        while events:
            event = events.popleft()
            handler = handler_of(type(event))
            if handler is not None:
                handler(event)

    def record(self, sensor: str, value: float, now_ms: int) -> None:
        """Record what a driver measures: "flush-time-ns", "metadata-wait-time-ns" or "buffer-exhausted"."""
        self._of(CLIENT)[sensor].record(value, now_ms)

    def names(self) -> list[MetricName]:
        """Return the names of all current metrics."""
        return [name for name, _ in self._all_sensors()] + [
            self._name(CLIENT, "", name) for name in _GAUGE_NAMES
        ]

    def read(self, gauges: Gauges, now_ms: int) -> dict[MetricName, float]:
        """Return all values: times in ms (but metadata-age in s, -ns-total in ns), sizes in bytes, rates per second."""
        self._request_ended(now_ms)
        values = {
            name: sensor.read(name.name.rpartition("-")[2], now_ms) for name, sensor in self._all_sensors()
        }
        more = {name: read(gauges) for name, read in _GAUGES.items()}
        more["connection-count"] = float(len(self._connected))
        more["requests-in-flight"] = float(self._in_flight)
        more["metadata-age"] = nan if self._metadata_ms is None else (now_ms - self._metadata_ms) / 1000
        return values | {self._name(CLIENT, "", name): value for name, value in more.items()}

    # Events

    def _batch_sent(self, event: BatchSent) -> None:
        topic, at_ms = _topic(event.batch), event.at_ms
        client, of_topic = self._of(CLIENT), self._of(TOPIC, topic)
        client["batch-size"].record(event.size_bytes, at_ms)
        client["record-queue-time"].record(event.queue_time_ms, at_ms)
        self._records_in_request += event.record_count
        of_topic["byte"].record(event.size_bytes, at_ms)
        for sensors in (client, of_topic):
            sensors["record-send"].record(event.record_count, at_ms)
            if event.uncompressed_bytes:
                sensors["compression-rate"].record(event.size_bytes / event.uncompressed_bytes, at_ms)

    def _batch_retried(self, event: BatchRetried) -> None:
        for sensors in (self._of(CLIENT), self._of(TOPIC, _topic(event.batch))):
            sensors["record-retry"].record(event.record_count, event.at_ms)

    def _batch_split(self, event: BatchSplit) -> None:
        self._of(CLIENT)["batch-split"].record(1, event.at_ms)

    def _batch_ended(self, event: BatchEnded) -> None:
        if event.error:
            for sensors in (self._of(CLIENT), self._of(TOPIC, _topic(event.batch))):
                sensors["record-error"].record(event.record_count, event.at_ms)

    def _metadata_updated(self, event: MetadataUpdated) -> None:
        self._metadata_ms = event.at_ms

    def _request_lost(self, event: RequestLost) -> None:
        self._in_flight -= event.api != self._unanswered

    def _request_sent(self, event: RequestSent) -> None:
        self._request_ended(event.at_ms)
        self._in_flight += event.api != self._unanswered
        self._of(CLIENT)["network-io"].record(1, event.at_ms)
        for sensors in (self._of(CLIENT), self._of(NODE, str(event.node))):
            sensors["request"].record(1, event.at_ms)
            sensors["request-size"].record(event.size_bytes, event.at_ms)
            sensors["outgoing-byte"].record(event.size_bytes, event.at_ms)

    def _request_ended(self, at_ms: int) -> None:
        """Record the records per request. A Produce request's RequestSent is followed by one BatchSent per batch."""
        if self._records_in_request:
            self._of(CLIENT)["records-per-request"].record(self._records_in_request, at_ms)
            self._records_in_request = 0

    def _response_received(self, event: ResponseReceived) -> None:
        self._in_flight -= 1
        client = self._of(CLIENT)
        client["network-io"].record(1, event.at_ms)
        if event.api == "Produce":
            client["produce-throttle-time"].record(event.throttle_ms, event.at_ms)
        for sensors in (client, self._of(NODE, str(event.node))):
            sensors["response"].record(1, event.at_ms)
            sensors["request-latency"].record(event.latency_ms, event.at_ms)
            sensors["incoming-byte"].record(event.size_bytes, event.at_ms)

    def _send_unblocked(self, event: SendUnblocked) -> None:
        sensor = "metadata-wait-time-ns" if event.waited_for == "metadata" else "bufferpool-wait-time-ns"
        self.record(sensor, event.waited_ms * NS_PER_MS, event.at_ms)

    def _state_changed(self, event: StateChanged) -> None:
        if event.machine != CONNECTION.name or event.before == event.after:
            return
        is_open = event.after in _OPEN
        if is_open and event.subject not in self._connected:
            self._connected.add(event.subject)
            self.record("connection-creation", 1, event.at_ms)
        elif not is_open and event.subject in self._connected:
            self._connected.discard(event.subject)
            self.record("connection-close", 1, event.at_ms)

    # Sensors

    def _of(self, group: str, subject: str = "") -> dict[str, Sensor]:
        sensors = self._sensors.get((group, subject))
        if sensors is None:
            made = {name: Sensor(self._window_ms, self._samples) for name in SENSORS[group]}
            sensors = self._sensors[group, subject] = made
            for name, _ in self._named(group, subject, sensors):
                self.added(name)
        return sensors

    def _all_sensors(self) -> Iterator[tuple[MetricName, Sensor]]:
        for (group, subject), sensors in self._sensors.items():
            yield from self._named(group, subject, sensors)

    def _named(
        self, group: str, subject: str, sensors: Mapping[str, Sensor]
    ) -> Iterator[tuple[MetricName, Sensor]]:
        for name, sensor in sensors.items():
            for statistic in SENSORS[group][name]:
                yield self._name(group, subject, f"{name}-{statistic}"), sensor

    def _name(self, group: str, subject: str, name: str) -> MetricName:
        more = {NODE: (("node-id", f"node-{subject}"),), TOPIC: (("topic", subject),)}
        return MetricName(name, group, (self._client_tag, *more.get(group, ())))


_OPEN = {ConnectionState.CHECKING_API_VERSIONS.value, ConnectionState.READY.value}

_GAUGES: Mapping[str, Callable[[Gauges], float]] = {
    "buffer-available-bytes": lambda gauges: float(gauges.buffer_available_bytes),
    "buffer-total-bytes": lambda gauges: float(gauges.buffer_total_bytes),
    "buffer-peak-bytes": lambda gauges: float(gauges.buffer_peak_bytes),  # not in Java
    "waiting-threads": lambda gauges: float(gauges.waiting_threads),
}
_GAUGE_NAMES = (*_GAUGES, "connection-count", "requests-in-flight", "metadata-age")


def _topic(batch: str) -> str:
    """Return the topic of a batch's name, ``topic-partition#number``."""
    return batch.rpartition("#")[0].rpartition("-")[0]
