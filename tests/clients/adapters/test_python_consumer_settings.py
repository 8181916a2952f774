"""The mapping from the settings of Java's consumer to those of the Python clients."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clients.adapters.python_lib
from clients.adapters import confluent_kafka
from clients.adapters.aiokafka import consumer_settings as aiokafka
from clients.adapters.kafka_python import consumer_settings as kafka_python
from clients.adapters.python_lib.verifiable.java import (
    STRATEGY,
    applied,
    arguments,
    assignor_names,
    translate,
)
from harness.workloads.consume.profile import PROFILE
from suites.contract.consumer_settings import FURTHER

JAVA = "org.apache.kafka.clients.consumer."
ASSIGNORS = {"range": str, "roundrobin": int, "sticky": bool}
#: A version's own table of a kafka-python.
DEFAULTS = {name.replace(".", "_"): None for name in kafka_python.SHARED}
NAMES = st.sampled_from([*PROFILE, *FURTHER, "group.id", "no.such"])
VALUES = st.one_of(
    st.integers(-1, 10**9), st.booleans(), st.sampled_from(["range", "latest", "none", "true", "banana", ""])
)


def of_kafka_python(config, version="3.0.12"):
    own, not_set = translate(config, kafka_python.names(DEFAULTS), (), kafka_python.WHY_NOT, ASSIGNORS)
    kafka_python.give_way(own, not_set, version)
    return own, not_set


def of_aiokafka(config):
    return translate(config, aiokafka.NAMES, (), aiokafka.WHY_NOT, ASSIGNORS)


@pytest.fixture(scope="module")
def of_librdkafka():
    """Return the translation for confluent-kafka, whose modules import each other as in the program."""
    its = Path(confluent_kafka.__file__).parent
    paths = [str(its), str(Path(clients.adapters.python_lib.__file__).parent)]
    before = set(sys.modules)
    sys.path[:0] = paths
    try:
        return importlib.import_module("consumer_settings").translate
    finally:
        del sys.path[: len(paths)]
        for name in set(sys.modules) - before:
            del sys.modules[name]


@pytest.mark.parametrize("translated", [of_kafka_python, of_aiokafka])
@given(config=st.dictionaries(NAMES, VALUES))
def test_every_setting_is_reported_once(translated, config):
    own, not_set = translated(config)
    assert sorted([*applied(own, not_set), *not_set]) == sorted(config)
    assert all(not_set.values())


@given(config=st.dictionaries(NAMES, VALUES))
def test_every_setting_of_librdkafka_is_reported_once(of_librdkafka, config):
    wanted, not_set = of_librdkafka(config)
    assert sorted([*wanted, *not_set]) == sorted(config)
    assert all(type(value) is str for group in wanted.values() for value in group.values())


@pytest.mark.parametrize(
    ("java", "names"),
    [
        ("range", ["range"]),
        (f"{JAVA}RangeAssignor", ["range"]),
        (f"{JAVA}CooperativeStickyAssignor, {JAVA}StickyAssignor", ["cooperative-sticky", "sticky"]),
        ("com.example.Own", ["Own"]),
    ],
)
def test_assignors_are_named_by_class_or_by_their_names_in_the_protocol(java, names):
    assert assignor_names(java) == names


@pytest.mark.parametrize("translated", [of_kafka_python, of_aiokafka])
def test_assignors_become_the_client_s_classes(translated):
    own, not_set = translated({STRATEGY: f"{JAVA}RoundRobinAssignor,range"})
    assert arguments(own) == {"partition_assignment_strategy": [int, str]}
    assert applied(own, not_set) == {STRATEGY: ("partition_assignment_strategy", "int, str")}
    _, not_set = translated({STRATEGY: "range,cooperative-sticky"})
    assert not_set == {STRATEGY: "'cooperative-sticky' is not one of range, roundrobin, sticky"}


@pytest.mark.parametrize(
    ("version", "session_ms", "request_ms", "given_ms"),
    [("2.3.3", 6_000, 3_000, 7_000), ("2.3.3", 6_000, 6_001, 6_001), ("3.0.12", 6_000, 3_000, 3_000)],
)
def test_kafka_python_before_3_needs_requests_longer_than_a_session(
    version, session_ms, request_ms, given_ms
):
    own, not_set = of_kafka_python(
        {"session.timeout.ms": session_ms, "request.timeout.ms": request_ms}, version
    )
    assert arguments(own)["request_timeout_ms"] == given_ms
    assert ("request.timeout.ms" in not_set) == (given_ms != request_ms)


def test_aiokafka_waits_in_a_rebalance_as_long_as_for_a_poll():
    own, _ = of_aiokafka({"max.poll.interval.ms": 9})
    assert arguments(own) == {"max_poll_interval_ms": 9, "rebalance_timeout_ms": 9}


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"enable.auto.commit": True}, {"enable.auto.commit": "true"}),
        ({"enable.auto.commit": False}, {"enable.auto.commit": "false"}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ({"fetch.max.wait.ms": 9}, {"fetch.wait.max.ms": "9"}),
        ({STRATEGY: f"{JAVA}CooperativeStickyAssignor"}, {STRATEGY: "cooperative-sticky"}),
        ({STRATEGY: "sticky"}, {}),
        ({"max.poll.records": 9}, {}),
        ({"group.protocol": "consumer", "session.timeout.ms": 9}, {"group.protocol": "consumer"}),
        (
            {"group.protocol": "classic", "session.timeout.ms": 9},
            {"group.protocol": "classic", "session.timeout.ms": "9"},
        ),
    ],
)
def test_properties_of_librdkafka(of_librdkafka, config, wanted):
    given_to_it, not_set = of_librdkafka(config)
    assert {name: value for group in given_to_it.values() for name, value in group.items()} == wanted
    assert given_to_it.keys() | not_set.keys() == config.keys()
