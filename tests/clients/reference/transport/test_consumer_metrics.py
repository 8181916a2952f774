"""KafkaConsumer.metrics() and metric reporters, on sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clients.reference import KafkaConsumer, KafkaProducer
from clients.reference.errors import PluginError
from clients.reference.telemetry import trace as event
from clients.reference.telemetry.consumer_metrics import CLIENT, FETCH, NODE, PARTITION, TOPIC
from clients.reference.telemetry.metrics import MetricName, Scope
from testkit.codes import raises_code

WAIT_S = 20
A = ("t", 0)


class Reporter:
    def __init__(self) -> None:
        self.names: set[MetricName] = set()

    def init(self, names: Any, read: Any) -> None:
        self.names, self.read = set(names), read

    def metric_added(self, name: MetricName) -> None:
        self.names.add(name)

    def metric_removed(self, name: MetricName) -> None:
        self.names.remove(name)


def told(consumer: KafkaConsumer, scope: Scope, subject: str = "") -> dict[str, float]:
    tags = (("client-id", "me"), *scope.tags(subject))
    return {
        name.name: value
        for name, value in consumer.metrics().items()
        if (name.group, name.tags) == (scope.group, tags)
    }


@contextmanager
def reading(broker: Any, **more: Any) -> Iterator[KafkaConsumer]:
    settings = {
        "bootstrap.servers": f"127.0.0.1:{broker.port}",
        "client.id": "me",
        "auto.offset.reset": "earliest",
    }
    trace = more.pop("trace", None)
    with KafkaConsumer(settings | more, **({} if trace is None else {"trace": trace})) as consumer:
        consumer.assign([A])
        yield consumer


def store(broker: Any, count: int) -> None:
    with KafkaProducer({"bootstrap.servers": f"127.0.0.1:{broker.port}"}) as p:
        for _ in range(count):
            p.send("t", b"v", partition=0)


def read(consumer: KafkaConsumer, count: int) -> None:
    found = 0
    while found < count:
        found += consumer.poll(WAIT_S).count


@pytest.mark.parametrize("is_traced", [False, True])
def test_metrics_of_a_consumer_that_reads(broker, is_traced):
    trace: list[event.TraceEvent] = []
    store(broker, 5)
    with reading(broker, trace=trace.append if is_traced else None) as consumer:
        assert told(consumer, CLIENT)["last-poll-seconds-ago"] == -1
        assert told(consumer, PARTITION, "t-0") == {"preferred-read-replica": -1}
        read(consumer, 5)
        client, fetch = told(consumer, CLIENT), told(consumer, FETCH)
        assert (fetch["records-consumed-total"], fetch["records-lag-max"]) == (5, 0)
        assert told(consumer, TOPIC, "t")["bytes-consumed-total"] == fetch["bytes-consumed-total"] > 5
        assert fetch["fetch-total"] >= 1 and client["connection-creation-total"] >= 1
        assert told(consumer, PARTITION, "t-0")["records-lead"] == 5
        assert told(consumer, NODE, "1")["request-latency-max"] >= 0
        assert client["last-poll-seconds-ago"] >= 0 and client["poll-idle-ratio-avg"] > 0
        assert bool(trace) is is_traced
        consumer.unsubscribe()
        assert not told(consumer, PARTITION, "t-0")
    assert told(consumer, FETCH)["records-consumed-total"] == 5


def test_times_of_commits_and_lookups(broker):
    with reading(broker, **{"group.id": "g"}) as consumer:
        before = told(consumer, CLIENT)
        assert before["commit-sync-time-ns-total"] == before["committed-time-ns-total"] == 0
        consumer.commit_sync({})
        consumer.committed([])
        after = told(consumer, CLIENT)
        assert after["commit-sync-time-ns-total"] > 0 and after["committed-time-ns-total"] > 0


def test_reporters_know_every_metric(broker):
    reporter, store_count = Reporter(), 3
    store(broker, store_count)
    with reading(broker, **{"metric.reporters": [reporter]}) as consumer:
        read(consumer, store_count)
        names = consumer.metrics().keys()
        assert reporter.names == names == reporter.read().keys()
        assert {name.group for name in names} >= {CLIENT.group, NODE.group, FETCH.group}
        consumer.assign([("t", 1)])
        assert reporter.names == consumer.metrics().keys()
        assert not told(consumer, PARTITION, "t-0") and told(consumer, PARTITION, "t-1")


def test_a_reporter_that_cannot_begin_is_refused(broker):
    class Failing(Reporter):
        def init(self, names: Any, read: Any) -> None:
            raise ValueError("no")

    with raises_code(PluginError, "plugin-failed"), reading(broker, **{"metric.reporters": [Failing()]}):
        pass


def test_another_thread_reads_metrics_while_a_call_waits(broker):
    """As in Java: metrics() is not one of the calls that one thread at a time may make."""
    with reading(broker) as consumer:
        waits, wait = threading.Event(), consumer._driver._selector.wait

        def noted(timeout_s: float | None) -> None:
            if timeout_s:
                waits.set()
            wait(timeout_s)

        consumer._driver._selector.wait = noted  # type: ignore[method-assign]
        ended: list[object] = []

        def poll() -> None:
            try:
                ended.append(consumer.poll(600))
            except Exception as raised:
                ended.append(raised)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            assert waits.wait(WAIT_S)
            assert told(consumer, CLIENT)["time-between-poll-max"] == 0 and not ended
        finally:
            consumer.wakeup()
            thread.join(WAIT_S)
        assert not thread.is_alive()
