"""Java's metrics as a fold over trace events, and as returned by KafkaProducer.metrics()."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.telemetry import trace as event
from clients.reference.telemetry.metric_stats import Sensor
from clients.reference.telemetry.metrics import Scope
from clients.reference.telemetry.producer_metrics import CLIENT, NODE, TOPIC, Gauges, ProducerMetrics

GAUGES = Gauges(70, 100, 40, 3)


def shown(metrics: ProducerMetrics, now_ms: int = 0, scope: Scope = CLIENT) -> dict[str, float]:
    return {
        name.name: value for name, value in metrics.read(GAUGES, now_ms).items() if name.group == scope.group
    }


def sent(**given_: Any) -> event.BatchSent:
    plain = {"batch": "my-topic-0#1", "node": 1, "attempt": 1, "producer_id": 7, "producer_epoch": 0}
    sizes = {"base_sequence": 0, "record_count": 3, "size_bytes": 50, "uncompressed_bytes": 100}
    return event.BatchSent(**{"at_ms": 0, "queue_time_ms": 4, **plain, **sizes, **given_})


def connection(after: str, before: str = "CONNECTING", node: str = "1") -> event.StateChanged:
    return event.StateChanged(
        at_ms=0, machine="connection", subject=node, before=before, cause="x", after=after
    )


def test_batch_metrics():
    metrics = ProducerMetrics("c")
    metrics(sent())
    metrics(sent(size_bytes=150, record_count=5, queue_time_ms=8, uncompressed_bytes=150))
    metrics(
        event.BatchRetried(
            at_ms=0, batch="my-topic-0#1", error="X", attempts=1, retry_at_ms=9, record_count=3
        )
    )
    metrics(event.BatchEnded(at_ms=0, batch="my-topic-0#1", record_count=3, error="X"))
    metrics(event.BatchEnded(at_ms=0, batch="my-topic-0#2", record_count=5))
    metrics(event.BatchSplit(at_ms=0, batch="my-topic-0#3", parts=2, record_count=5))
    client, topic = shown(metrics), shown(metrics, scope=TOPIC)
    assert (client["batch-size-avg"], client["batch-size-max"]) == (100, 150)
    assert client["compression-rate-avg"] == 0.75
    assert (client["record-queue-time-avg"], client["record-queue-time-max"]) == (6, 8)
    assert (client["record-send-total"], client["record-retry-total"], client["record-error-total"]) == (
        8,
        3,
        3,
    )
    assert client["batch-split-total"] == 1
    assert (topic["record-send-total"], topic["byte-total"]) == (8, 200)
    assert {name.tags for name in metrics.names() if name.group == TOPIC.group} == {
        (("client-id", "c"), ("topic", "my-topic"))
    }


def test_request_metrics():
    metrics = ProducerMetrics("c")

    def request(api: str, correlation_id: int) -> event.RequestSent:
        return event.RequestSent(
            at_ms=0, node=2, api=api, version=1, correlation_id=correlation_id, size_bytes=40
        )

    metrics(request("Produce", 1))
    metrics(sent())
    metrics(sent())
    metrics(request("Metadata", 2))
    metrics(request("Produce", 3))
    assert shown(metrics)["requests-in-flight"] == 3
    metrics(
        event.ResponseReceived(
            at_ms=0, node=2, api="Produce", correlation_id=1, latency_ms=7, size_bytes=9, throttle_ms=30
        )
    )
    metrics(event.RequestLost(at_ms=0, node=2, api="Metadata", correlation_id=2, timed_out=True))
    client, node = shown(metrics), shown(metrics, scope=NODE)
    assert client["requests-in-flight"] == 1
    assert client["records-per-request-avg"] == 6
    assert (client["request-latency-avg"], client["request-latency-max"]) == (7, 7)
    assert (client["produce-throttle-time-avg"], client["produce-throttle-time-max"]) == (30, 30)
    assert (client["request-total"], client["response-total"], client["network-io-total"]) == (3, 1, 4)
    assert (node["outgoing-byte-total"], node["incoming-byte-total"]) == (120, 9)


def test_request_without_a_response_is_not_in_flight():
    metrics = ProducerMetrics("c", acks=0)
    metrics(event.RequestSent(at_ms=0, node=2, api="Produce", version=1, correlation_id=1, size_bytes=4))
    assert shown(metrics)["requests-in-flight"] == 0


def test_connection_metrics():
    metrics = ProducerMetrics("c")
    for each in (
        connection("CONNECTING", "DISCONNECTED"),
        connection("CHECKING_API_VERSIONS"),
        connection("READY", "CHECKING_API_VERSIONS"),
        connection("CHECKING_API_VERSIONS", node="2"),
        connection("DISCONNECTED", "READY"),
        connection("DISCONNECTED", "CONNECTING", node="3"),
    ):
        metrics(each)
    client = shown(metrics)
    assert (
        client["connection-creation-total"],
        client["connection-close-total"],
        client["connection-count"],
    ) == (2, 1, 1)


def test_waiting_times_and_gauges():
    metrics = ProducerMetrics("c")
    assert isnan(shown(metrics)["metadata-age"]) and isnan(shown(metrics)["batch-size-avg"])
    metrics(event.MetadataUpdated(at_ms=1_000, version=1, topics=1, leaders_changed=True))
    metrics(event.SendUnblocked(at_ms=1_000, topic="t", waited_for="memory", waited_ms=2))
    metrics(event.SendUnblocked(at_ms=1_000, topic="t", waited_for="metadata", waited_ms=3))
    metrics.record("flush-time-ns", 5, 1_000)
    client = shown(metrics, 3_500)
    assert client["metadata-age"] == 2.5
    assert client["bufferpool-wait-time-ns-total"] == 2_000_000
    assert client["metadata-wait-time-ns-total"] == 3_000_000
    assert client["flush-time-ns-total"] == 5
    assert (client["buffer-available-bytes"], client["buffer-total-bytes"]) == (70, 100)
    assert (client["buffer-peak-bytes"], client["waiting-threads"]) == (40, 3)


@given(st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 1_000)), max_size=40))
def test_sensor_covers_its_recent_values(recorded):
    """Averages and maxima cover recent values, none older than all windows. Totals cover all values."""
    sensor, now_ms, values = Sensor(window_ms=10_000, samples=2), 0, []
    for later_ms, value in recorded:
        now_ms += later_ms
        sensor.record(value, now_ms)
        values.append((now_ms, value))
    assert sensor.read("total", now_ms) == sum(value for _, value in values)
    average, largest = sensor.read("avg", now_ms), sensor.read("max", now_ms)
    assert sensor.read("rate", now_ms) >= 0
    if not values:
        assert isnan(average) and isnan(largest)
        return
    assert not isnan(average), "the newest value counts"
    suffixes = [values[first:] for first in range(len(values))]
    fitting = [
        [value for _, value in each]
        for each in suffixes
        if each[0][0] > now_ms - 30_000 and abs(sum(v for _, v in each) / len(each) - average) < 1e-6
    ]
    assert any(max(each) == largest for each in fitting)
    assert isnan(sensor.read("avg", now_ms + 40_000))
    assert sensor.read("rate", now_ms + 40_000) == 0


def test_rate_divides_by_the_time_of_the_samples():
    sensor = Sensor(window_ms=10_000, samples=2)
    sensor.record(30, 0)
    assert sensor.read("rate", 0) == 3  # never less than one full window
    sensor.record(30, 15_000)
    assert sensor.read("rate", 15_000) == 4
    assert sensor.read("rate", 20_000) == 2  # the first sample has expired, one full window and 5 s count


@pytest.mark.parametrize("statistic", ["avg", "max", "rate"])
def test_windows_of_no_length_have_no_recent_values(statistic):
    """Kafka allows metrics.sample.window.ms=0."""
    sensor = Sensor(window_ms=0, samples=2)
    sensor.record(30, 0)
    assert isnan(sensor.read(statistic, 5)) and sensor.read("total", 5) == 30
