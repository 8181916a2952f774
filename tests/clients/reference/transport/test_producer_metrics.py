"""KafkaProducer.metrics() and metric reporters, compared with the trace."""

from __future__ import annotations

from typing import Any

from clients.reference import KafkaProducer
from clients.reference.telemetry import trace as event
from clients.reference.telemetry.metrics import MetricName
from clients.reference.telemetry.producer_metrics import CLIENT, NODE, TOPIC

WAIT_S = 20


class Reporter:
    def __init__(self) -> None:
        self.names: list[MetricName] = []
        self.added: list[MetricName] = []

    def init(self, names: Any, read: Any) -> None:
        self.names, self.read = list(names), read

    def metric_added(self, name: MetricName) -> None:
        self.added.append(name)


def test_reporters_get_the_metrics_of_the_producer(broker):
    reporter = Reporter()
    settings = {
        "bootstrap.servers": f"127.0.0.1:{broker.port}",
        "metric.reporters": [reporter],
        "client.id": "me",
        "linger.ms": 0,
    }
    trace: list[event.TraceEvent] = []
    with KafkaProducer(settings, trace=trace.append) as p:
        before = p.metrics()
        assert {name.group for name in reporter.names} == {CLIENT.group} and set(reporter.names) <= set(
            before
        )
        p.send("t", b"v", partition=0).result(WAIT_S)
        p.flush(WAIT_S)
        after = p.metrics()
    told = {name.name: value for name, value in after.items() if name.group == CLIENT.group}
    assert told["record-send-total"] == 1
    assert told["connection-creation-total"] >= 1
    assert (
        told["buffer-peak-bytes"] >= 16_384 and told["buffer-available-bytes"] == told["buffer-total-bytes"]
    )
    assert told["flush-time-ns-total"] > 0 and told["request-latency-max"] >= 0
    [waited] = [each for each in trace if isinstance(each, event.SendUnblocked)]
    assert waited.waited_for == "metadata"
    assert told["metadata-wait-time-ns-total"] == waited.waited_ms * 1_000_000
    assert told["batch-size-avg"] > 61
    assert set(after) == set(reporter.names) | set(reporter.added)
    assert {name.group for name in reporter.added} == {NODE.group, TOPIC.group}
    assert reporter.read().keys() >= after.keys()
    assert all(("client-id", "me") in name.tags for name in after)
