"""The metrics of new clients, compared with those of Java's own clients."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest

from clients.reference.telemetry.consumer_metrics import ConsumerMetrics
from clients.reference.telemetry.metrics import MetricName
from clients.reference.telemetry.producer_metrics import ProducerMetrics
from testkit import java_config

BOOTSTRAP = {"bootstrap.servers": "127.0.0.1:1"}
#: What Java's clients have beyond ours, by the beginnings of the names. The modules' docstrings say why.
NETWORK = (
    "app-info ",
    "kafka-metrics-count ",
    "{group} failed-authentication-",
    "{group} failed-reauthentication-",
    "{group} io-",
    "{group} reauthentication-",
    "{group} select-",
    "{group} successful-authentication-",
    "{group} successful-reauthentication-",
)
ASYNC = (
    "{group} application-event",
    "{group} background-event-",
    "{group} time-between-network-thread-poll-",
    "{group} unsent-requests-",
)
PRODUCER = ("{group} record-size-", "{group} bufferpool-wait-ratio", "{group} txn-prepare-time-ns-total")
#: What ours have beyond Java's.
PEAK = "producer-metrics buffer-peak-bytes"


def of_java(role: str, settings: dict[str, str]) -> set[str]:
    question = json.dumps({"role": role, "settings": {**BOOTSTRAP, **settings}})
    ran = subprocess.run(
        java_config.argv(), input=question + "\n", capture_output=True, text=True, check=True, timeout=120
    )
    told: dict[str, Any] = json.loads(ran.stdout)
    return set(told["metrics"])


def shown(names: Iterable[MetricName]) -> set[str]:
    return {f"{name.group} {name.name}" for name in names}


@pytest.mark.parametrize("protocol", [None, "classic", "consumer"])
def test_a_new_consumer_has_the_metrics_of_javas(protocol):
    settings = {} if protocol is None else {"group.id": "g", "group.protocol": protocol}
    ours, javas = shown(ConsumerMetrics("c", protocol).names()), of_java("consumer", settings)
    more = NETWORK if protocol != "consumer" else (*NETWORK, *ASYNC)
    lacking = javas - ours
    assert ours <= javas
    assert all(each.startswith(_beginnings(more, "consumer-metrics")) for each in lacking), lacking


def test_a_new_producer_has_the_metrics_of_javas():
    ours, javas = shown(ProducerMetrics("c").names()), of_java("producer", {})
    more = (*NETWORK, *PRODUCER)
    lacking = javas - ours
    assert ours - javas == {PEAK}
    assert all(each.startswith(_beginnings(more, "producer-metrics")) for each in lacking), lacking


def _beginnings(names: Iterable[str], group: str) -> tuple[str, ...]:
    return tuple(name.format(group=group) for name in names)
