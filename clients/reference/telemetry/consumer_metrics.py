"""The consumer's metrics, by the Java client's names: a fold over trace events, and what the driver measures.

The metrics of a partition exist while it is assigned. A response of Fetch counts as consumed when none of it is
left, as in Java, so records-consumed-total is behind while poll() returns it in parts. The request-latency of a node
is that of Fetch, and the throttle time that of all requests.

Not implemented, beside what metrics.py lists: the queues and the network thread of AsyncKafkaConsumer, which this core
does not have (application-event-queue-size, unsent-requests-queue-size, time-between-network-thread-poll-avg and so
on), and the second, deprecated metrics of topics whose name has a dot (KIP-1109).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from clients.reference.telemetry.fetch_events import (
    FetchAnswered,
    FetchConsumed,
    NothingToReturn,
    RecordsReturned,
)
from clients.reference.telemetry.metric_stats import LATEST, METER, RANGE
from clients.reference.telemetry.metrics import (
    CONNECTIONS,
    REQUESTS,
    ClientMetrics,
    MetricName,
    Scope,
    Tags,
    node_tags,
    topic_tags,
)
from clients.reference.telemetry.trace import (
    ListenerReturned,
    RebalanceFailed,
    RequestSent,
    ResponseReceived,
    StateChanged,
)

MS_PER_S = 1_000
#: The replica of a partition that is read from its leader, and the seconds since what has never happened.
NONE = -1


def partition_tags(partition: str) -> Tags:
    """Return the tags of a partition's metrics. ``partition`` is ``topic-partition``."""
    topic, _, index = partition.rpartition("-")
    return (("topic", topic), ("partition", index))


_CONSUMED: Mapping[str, tuple[str, ...]] = {
    "fetch-size": RANGE,
    "bytes-consumed": METER,
    "records-per-request": ("avg",),
    "records-consumed": METER,
}
_PER_HOUR = ("total", "rate-per-hour")
_GROUP: Mapping[str, tuple[str, ...]] = {
    "commit-latency": RANGE,
    "commit": METER,
    "heartbeat-response-time": ("max",),
    "heartbeat": METER,
    "rebalance-latency": (*RANGE, "total"),
    "rebalance": _PER_HOUR,
    "failed-rebalance": _PER_HOUR,
    "partition-assigned-latency": RANGE,
    "partition-revoked-latency": RANGE,
    "partition-lost-latency": RANGE,
}
_COORDINATOR, _FETCH = "consumer-coordinator-metrics", "consumer-fetch-manager-metrics"

CLIENT: Final = Scope(
    "consumer-metrics",
    {
        **REQUESTS,
        **CONNECTIONS,
        "time-between-poll": RANGE,
        "poll-idle-ratio": ("avg",),
        "commit-sync-time-ns": ("total",),
        "committed-time-ns": ("total",),
    },
)
NODE: Final = Scope("consumer-node-metrics", {**REQUESTS, "request-latency": RANGE}, node_tags)
FETCH: Final = Scope(
    _FETCH,
    {
        **_CONSUMED,
        "fetch-latency": RANGE,
        "fetch": METER,
        "fetch-throttle-time": RANGE,
        "records-lag": ("max",),
        "records-lead": ("min",),
    },
)
TOPIC: Final = Scope(_FETCH, _CONSUMED, topic_tags)
PARTITION: Final = Scope(
    _FETCH,
    {"records-lag": (LATEST, "avg", "max"), "records-lead": (LATEST, "avg", "min")},
    partition_tags,
)
#: By group.protocol.
COORDINATOR: Final[Mapping[str, Scope]] = {
    "classic": Scope(
        _COORDINATOR, {**_GROUP, "join-time": RANGE, "join": METER, "sync-time": RANGE, "sync": METER}
    ),
    "consumer": Scope(_COORDINATOR, _GROUP),
}


class ConsumerMetrics(ClientMetrics):
    """``group_protocol`` is None without a group.id. ``removed`` is called with the name of each metric that goes."""

    def __init__(
        self,
        client_id: str,
        group_protocol: str | None,
        *,
        window_ms: int = 30_000,
        samples: int = 2,
        added: Callable[[MetricName], None] = lambda name: None,
        removed: Callable[[MetricName], None] = lambda name: None,
    ) -> None:
        super().__init__(client_id, CLIENT, NODE, window_ms=window_ms, samples=samples, added=added)
        self.removed = removed
        self._fetch = self._of(FETCH)
        self._assigned: dict[str, None] = {}
        self._fetch_latency_ms: dict[int, int] = {}
        self._polled_ms: int | None = None
        self._since_poll_ms = 0
        self._handlers |= {
            FetchAnswered: self._fetch_answered,
            FetchConsumed: self._fetch_consumed,
            RecordsReturned: self._position_told,
            NothingToReturn: self._position_told,
        }
        self._coordinator = None if group_protocol is None else COORDINATOR[group_protocol]
        if self._coordinator is not None:
            self._group = self._of(self._coordinator)
            self._heartbeat_ms: int | None = None
            self._rebalance_began_ms: int | None = None
            self._rebalanced_ms: int | None = None
            self._latency_ms: dict[str, int] = {}
            self._handlers |= {
                ListenerReturned: self._listener_returned,
                RebalanceFailed: self._rebalance_failed,
            }

    def names(self) -> list[MetricName]:
        """Return the names of all current metrics."""
        return [*self._names(("last-poll-seconds-ago",)), *self._more({}, 0)]

    def read(self, read_replicas: Mapping[str, int], now_ms: int) -> dict[MetricName, float]:
        """Return all values: times in ms (but -seconds-ago in s, -ns-total in ns), sizes in bytes, rates per second.

        ``read_replicas`` are the nodes that ``topic-partition`` is read from instead of the leader.
        """
        last_poll = {"last-poll-seconds-ago": _seconds_ago(self._polled_ms, now_ms)}
        return self._values(now_ms) | self._gauges(CLIENT, last_poll) | self._more(read_replicas, now_ms)

    def _more(self, read_replicas: Mapping[str, int], now_ms: int) -> dict[MetricName, float]:
        found: dict[MetricName, float] = {}
        for partition in self._assigned:
            replica = {_REPLICA: read_replicas.get(partition, NONE)}
            found |= self._gauges(PARTITION, replica, partition)
        if self._coordinator is not None:
            gauges = {
                "assigned-partitions": len(self._assigned),
                "last-heartbeat-seconds-ago": _seconds_ago(self._heartbeat_ms, now_ms),
                "last-rebalance-seconds-ago": _seconds_ago(self._rebalanced_ms, now_ms),
            }
            found |= self._gauges(self._coordinator, gauges)
        return found

    # What the driver knows

    def assigned(self, partitions: Collection[str]) -> None:
        """Keep the metrics of these partitions, ``topic-partition``, and remove those of all others."""
        for partition in [each for each in self._assigned if each not in partitions]:
            del self._assigned[partition]
            self._tell(self.removed, partition)
        for partition in partitions:
            if partition not in self._assigned:
                self._assigned[partition] = None
                self._tell(self.added, partition)
        gone = [key for key in self._sensors if key[0] is PARTITION and key[1] not in self._assigned]
        for key in gone:
            del self._sensors[key]
            for name in self._named(*key):
                self.removed(name)

    def _tell(self, told: Callable[[MetricName], None], partition: str) -> None:
        for name in self._gauges(PARTITION, {_REPLICA: NONE}, partition):
            told(name)

    def poll_began(self, now_ms: int) -> None:
        """Record that poll() was called."""
        self._since_poll_ms = 0 if self._polled_ms is None else now_ms - self._polled_ms
        self._polled_ms = now_ms
        self.record("time-between-poll", self._since_poll_ms, now_ms)

    def poll_ended(self, began_ms: int, now_ms: int) -> None:
        """Record how much of the time since the poll before was spent in this one, if it took any."""
        whole_ms = now_ms - began_ms + self._since_poll_ms
        if whole_ms:
            self.record("poll-idle-ratio", (now_ms - began_ms) / whole_ms, now_ms)

    # Requests

    def _request_sent(self, event: RequestSent) -> None:
        super()._request_sent(event)
        if event.api in _HEARTBEATS:
            self._heartbeat_ms = event.at_ms

    def _response_received(self, event: ResponseReceived) -> None:
        super()._response_received(event)
        api, at_ms = event.api, event.at_ms
        self._fetch["fetch-throttle-time"].record(event.throttle_ms, at_ms)
        if api == "Fetch":
            self._fetch_latency_ms[event.node] = event.latency_ms
        elif api in _HEARTBEATS:
            self._group["heartbeat-response-time"].record(event.latency_ms, at_ms)
            self._group["heartbeat"].record(1, at_ms)
        elif api == "OffsetCommit":
            self._group["commit-latency"].record(event.latency_ms, at_ms)
            self._group["commit"].record(1, at_ms)
        elif api in _REBALANCE:
            self._latency_ms[api] = event.latency_ms

    # Fetches

    def _fetch_answered(self, event: FetchAnswered) -> None:
        latency_ms = self._fetch_latency_ms.pop(event.node, None)
        if not event.usable or latency_ms is None:
            return
        self._of(NODE, str(event.node))["request-latency"].record(latency_ms, event.at_ms)
        self._fetch["fetch-latency"].record(latency_ms, event.at_ms)
        self._fetch["fetch"].record(1, event.at_ms)

    def _fetch_consumed(self, event: FetchConsumed) -> None:
        self._consumed(FETCH, "", sum(event.records.values()), sum(event.size_bytes.values()), event.at_ms)
        for topic, records in event.records.items():
            self._consumed(TOPIC, topic, records, event.size_bytes[topic], event.at_ms)

    def _consumed(self, scope: Scope, topic: str, records: int, size_bytes: int, at_ms: int) -> None:
        sensors = self._of(scope, topic)
        sensors["fetch-size"].record(size_bytes, at_ms)
        sensors["bytes-consumed"].record(size_bytes, at_ms)
        sensors["records-per-request"].record(records, at_ms)
        sensors["records-consumed"].record(records, at_ms)

    def _position_told(self, event: RecordsReturned | NothingToReturn) -> None:
        of_partition = self._of(PARTITION, event.partition)
        for sensors in (self._fetch, of_partition):
            if event.lag is not None:
                sensors["records-lag"].record(event.lag, event.at_ms)
            if event.lead is not None:
                sensors["records-lead"].record(event.lead, event.at_ms)

    # The group

    def _state_changed(self, event: StateChanged) -> None:
        if event.machine == "member":
            self._member_changed(event)
        elif event.machine == "membership":
            self._membership_changed(event)
        else:
            super()._state_changed(event)

    def _member_changed(self, event: StateChanged) -> None:
        """Follow a classic rebalance, from the first JoinGroup to SyncGroup, however often it is tried."""
        if event.cause == "join" and self._rebalance_began_ms is None:
            self._rebalance_began_ms = event.at_ms
        elif event.cause == "joined":
            self._record_step("join", "JoinGroup", event.at_ms)
        elif event.cause == "synced":
            self._record_step("sync", "SyncGroup", event.at_ms)
            self._rebalance_ended(event.at_ms)

    def _record_step(self, step: str, api: str, at_ms: int) -> None:
        self._group[f"{step}-time"].record(self._latency_ms[api], at_ms)
        self._group[step].record(1, at_ms)

    def _membership_changed(self, event: StateChanged) -> None:
        """Follow a reconciliation, from the first new target to the end of the callbacks."""
        if "RECONCILING" not in (event.before, event.after) or event.before == event.after:
            return
        if event.after == "RECONCILING":
            self._rebalance_began_ms = event.at_ms
        elif event.after in ("ACKNOWLEDGING", "STABLE"):
            self._rebalance_ended(event.at_ms)

    def _rebalance_ended(self, at_ms: int) -> None:
        began_ms = at_ms if self._rebalance_began_ms is None else self._rebalance_began_ms
        self._rebalance_began_ms, self._rebalanced_ms = None, at_ms
        self._group["rebalance-latency"].record(at_ms - began_ms, at_ms)
        self._group["rebalance"].record(1, at_ms)

    def _rebalance_failed(self, event: RebalanceFailed) -> None:
        self._group["failed-rebalance"].record(1, event.at_ms)

    def _listener_returned(self, event: ListenerReturned) -> None:
        self._group[f"partition-{event.what}-latency"].record(event.elapsed_ms, event.at_ms)


_REPLICA = "preferred-read-replica"
_HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
_REBALANCE = ("JoinGroup", "SyncGroup")


def _seconds_ago(at_ms: int | None, now_ms: int) -> int:
    return NONE if at_ms is None else (now_ms - at_ms) // MS_PER_S
