"""What the metrics of producers and consumers have in common: names, sensors, and those of requests and connections.

The core does not depend on metrics. ``ClientMetrics`` is a ``Trace`` that folds events into sensors, with one method
per kind of event. A ``Scope`` lists the statistics of each sensor: of the whole client, or of each node, topic or
partition. Averages, extremes and rates cover metrics.num.samples windows of metrics.sample.window.ms. Averages and
extremes without a sample are nan.

Not implemented, of producers and consumers: the metrics of Java's own selector (select-rate, io-time-ns-avg and so on),
those of authentication, app-info and kafka-metrics-count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from clients.reference.states import CONNECTION, ConnectionState
from clients.reference.telemetry.metric_stats import LATEST, METER, RANGE, Sensor
from clients.reference.telemetry.trace import RequestSent, ResponseReceived, StateChanged, TraceEvent

NS_PER_MS = 1_000_000
Tags = tuple[tuple[str, str], ...]


class MetricName(NamedTuple):
    """A metric's identity. ``tags`` are pairs such as ("client-id", "producer-1")."""

    name: str
    group: str
    tags: Tags


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """What is measured of one kind of subject. ``tags`` are those of a subject, beside client-id.

    ``sensors`` are by name, with their statistics. A metric's name is both, joined by a hyphen. Scopes compare by
    identity, because a sensor is looked up for every event.
    """

    group: str
    sensors: Mapping[str, tuple[str, ...]]
    tags: Callable[[str], Tags] = lambda subject: ()


#: The sensors of requests, of a client and of each of its nodes.
REQUESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "request": METER,
    "response": METER,
    "request-size": RANGE,
    "outgoing-byte": METER,
    "incoming-byte": METER,
}
CONNECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "network-io": METER,
    "connection-creation": METER,
    "connection-close": METER,
}
CONNECTION_COUNT: Final = "connection-count"


def node_tags(node: str) -> Tags:
    """Return the tags of a node's metrics."""
    return (("node-id", f"node-{node}"),)


def topic_tags(topic: str) -> Tags:
    """Return the tags of a topic's metrics."""
    return (("topic", topic),)


class ClientMetrics:
    """Call it with every event, or fold several. ``added`` is called with the name of each new metric.

    ``client`` is the scope of the whole client, ``node`` that of each node. A subclass adds handlers of more events.
    """

    def __init__(
        self,
        client_id: str,
        client: Scope,
        node: Scope,
        *,
        window_ms: int,
        samples: int,
        added: Callable[[MetricName], None],
    ) -> None:
        self._client_tag = ("client-id", client_id)
        self._client_scope, self._node_scope = client, node
        self._window_ms, self._samples, self.added = window_ms, samples, added
        self._sensors: dict[tuple[Scope, str], dict[str, Sensor]] = {}
        self._connected: set[str] = set()
        self._client = self._of(client)
        self._handlers: dict[type[TraceEvent], Callable[[Any], None]] = {
            RequestSent: self._request_sent,
            ResponseReceived: self._response_received,
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
        """Record what a driver measures for the whole client, such as "flush-time-ns"."""
        self._client[sensor].record(value, now_ms)

    # Events

    def _request_sent(self, event: RequestSent) -> None:
        self._client["network-io"].record(1, event.at_ms)
        for sensors in (self._client, self._of(self._node_scope, str(event.node))):
            sensors["request"].record(1, event.at_ms)
            sensors["request-size"].record(event.size_bytes, event.at_ms)
            sensors["outgoing-byte"].record(event.size_bytes, event.at_ms)

    def _response_received(self, event: ResponseReceived) -> None:
        self._client["network-io"].record(1, event.at_ms)
        for sensors in (self._client, self._of(self._node_scope, str(event.node))):
            sensors["response"].record(1, event.at_ms)
            sensors["incoming-byte"].record(event.size_bytes, event.at_ms)

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

    def _of(self, scope: Scope, subject: str = "") -> dict[str, Sensor]:
        sensors = self._sensors.get((scope, subject))
        if sensors is None:
            made = {name: Sensor(self._window_ms, self._samples) for name in scope.sensors}
            sensors = self._sensors[scope, subject] = made
            for name in self._named(scope, subject):
                self.added(name)
        return sensors

    def _values(self, now_ms: int) -> dict[MetricName, float]:
        """Return the values of all sensors, and the number of connections."""
        values = {
            self._name(scope, subject, sensor, statistic): sensors[sensor].read(statistic, now_ms)
            for (scope, subject), sensors in self._sensors.items()
            for sensor, statistics in scope.sensors.items()
            for statistic in statistics
        }
        return values | self._gauges(self._client_scope, {CONNECTION_COUNT: len(self._connected)})

    def _names(self, more: Collection[str] = ()) -> list[MetricName]:
        """Return the names of all sensors' metrics, and of the client's gauges ``more``."""
        sensors = [name for scope, subject in self._sensors for name in self._named(scope, subject)]
        return [*sensors, *self._gauges(self._client_scope, dict.fromkeys((*more, CONNECTION_COUNT), 0))]

    def _gauges(
        self, scope: Scope, values: Mapping[str, float], subject: str = ""
    ) -> dict[MetricName, float]:
        tags = (self._client_tag, *scope.tags(subject))
        return {MetricName(name, scope.group, tags): float(value) for name, value in values.items()}

    def _named(self, scope: Scope, subject: str) -> Iterator[MetricName]:
        for sensor, statistics in scope.sensors.items():
            for statistic in statistics:
                yield self._name(scope, subject, sensor, statistic)

    def _name(self, scope: Scope, subject: str, sensor: str, statistic: str) -> MetricName:
        name = sensor if statistic == LATEST else f"{sensor}-{statistic}"
        return MetricName(name, scope.group, (self._client_tag, *scope.tags(subject)))


_OPEN = {ConnectionState.CHECKING_API_VERSIONS.value, ConnectionState.READY.value}
