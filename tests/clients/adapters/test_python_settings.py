"""The mapping from Java's settings to those of kafka-python and aiokafka, which differ by version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.adapters.aiokafka import settings as aiokafka
from clients.adapters.kafka_python import settings as kafka_python
from clients.adapters.python_lib.verifiable.java import applied, arguments, translate
from harness.model.verdicts import Guarantee
from harness.workloads.produce.profile import producer_config

CODECS = ["none", "gzip", "lz4"]

#: The entries of a KafkaProducer's table of defaults that differ between versions.
COMMON = {name.replace(".", "_"): None for name in kafka_python.SHARED}
NEWER = ("delivery_timeout_ms", "enable_idempotence", "transaction_timeout_ms", "transactional_id")
DEFAULTS = {
    "2.0.2": {name: None for name in COMMON if name not in NEWER} | {"api_version_auto_timeout_ms": 2_000},
    "2.3.3": {name: None for name in COMMON if name != "buffer_memory"}
    | {"api_version_auto_timeout_ms": 2_000},
    "3.0.12": {name: None for name in COMMON if name != "buffer_memory"} | {"bootstrap_timeout_ms": 30_000},
}

NAMES = st.sampled_from(
    [*kafka_python.SHARED, *kafka_python.WHY_NOT, *aiokafka.NAMES, *aiokafka.WHY_NOT, "no.such"]
)
VALUES = st.one_of(
    st.integers(-1, 10**9), st.booleans(), st.sampled_from(["all", "1", "lz4", "zstd", "banana", ""])
)


def ours(config, version):
    """Return kafka-python's arguments at that version, and what is reported about the settings."""
    own, not_set = translate(config, kafka_python.names(DEFAULTS[version]), CODECS, kafka_python.WHY_NOT)
    kafka_python.give_way(own, not_set, version)
    return own, not_set


def theirs(config, version):
    """Return the same for aiokafka."""
    own, not_set = translate(config, aiokafka.NAMES, CODECS, aiokafka.WHY_NOT)
    aiokafka.give_way(own, not_set, version)
    return own, not_set


EVERY = [(ours, version) for version in DEFAULTS] + [(theirs, "0.8.1"), (theirs, "0.14.0")]


@pytest.mark.parametrize(("translated", "version"), EVERY)
@given(config=st.dictionaries(NAMES, VALUES))
def test_every_setting_is_reported_once(translated, version, config):
    own, not_set = translated(config, version)
    assert sorted([*applied(own, not_set), *not_set]) == sorted(config)
    assert all(not_set.values())


@pytest.mark.parametrize(("translated", "version"), EVERY)
@given(config=st.dictionaries(NAMES, VALUES))
def test_invalid_value_is_not_passed_to_the_client(translated, version, config):
    own, _ = translated(config, version)
    assert {value for name, value in own.values() if name == "acks"} <= {"all", 0, 1}
    assert {value for name, value in own.values() if name == "compression_type"} <= {None, "gzip", "lz4"}
    assert {type(value) for name, value in own.values() if name.endswith("_ms")} <= {int}


@pytest.mark.parametrize(
    ("java", "value", "given_value"),
    [
        ("acks", "all", "all"),
        ("acks", -1, "all"),
        ("acks", "1", 1),
        ("compression.type", "none", None),
        ("compression.type", "lz4", "lz4"),
        ("enable.idempotence", "false", False),
        ("linger.ms", "5", 5),
        ("transaction.timeout.ms", 40_000, 40_000),
        ("transactional.id", "7-p1", "7-p1"),
    ],
)
def test_values_have_the_types_of_python_clients(java, value, given_value):
    for translated, version in EVERY[1:]:
        own, not_set = translated({java: value}, version)
        assert [value for _, value in own.values()] == [given_value]
        assert java not in not_set or (java, version) == ("linger.ms", "0.8.1")


@pytest.mark.parametrize(
    ("java", "value", "why"),
    [
        ("acks", "banana", "'banana' is not one of all, -1, 0, 1"),
        ("compression.type", "zstd", "'zstd' is not one of none, gzip, lz4"),
        ("linger.ms", True, "True is not a whole number"),
        ("retries.of.mine", 1, "there is no such setting"),
    ],
)
def test_reason_why_a_setting_is_not_set(java, value, why):
    assert ours({java: value}, "3.0.12") == ({}, {java: why})


def test_fixed_arguments_are_not_overridden():
    for translated, version in EVERY:
        own, _ = translated(producer_config(Guarantee.IDEMPOTENT, {"compression.type": "lz4"}), version)
        assert len(arguments(own)) == sum(len(names.split(", ")) for names, _ in own.values())


def test_kafka_python_before_2_2_has_no_delivery_timeout_no_idempotence_and_no_transactions():
    newer = {
        "delivery.timeout.ms": 1,
        "enable.idempotence": True,
        "transaction.timeout.ms": 1,
        "transactional.id": "t",
    }
    _, not_set = ours({**newer, "buffer.memory": 1}, "2.0.2")
    assert not_set.keys() == newer.keys()


def test_kafka_python_constructor_blocks_as_long_as_send():
    for version, also in (("2.3.3", "api_version_auto_timeout_ms"), ("3.0.12", "bootstrap_timeout_ms")):
        own, _ = ours({"max.block.ms": 7}, version)
        assert arguments(own) == {"max_block_ms": 7, also: 7}


@pytest.mark.parametrize(
    ("version", "idempotent", "in_flight"), [("2.3.3", True, 1), ("2.3.3", False, 5), ("3.0.12", True, 5)]
)
def test_kafka_python_2_is_idempotent_only_with_one_request_in_flight(version, idempotent, in_flight):
    config = {"enable.idempotence": idempotent, kafka_python.IN_FLIGHT: 5}
    own, not_set = ours(config, version)
    assert arguments(own)["max_in_flight_requests_per_connection"] == in_flight
    assert (kafka_python.IN_FLIGHT in not_set) == (in_flight == 1)


@pytest.mark.parametrize(
    ("version", "lingers"), [("0.8.1", False), ("0.13.0", False), ("0.14.0", True), ("1.0.0", True)]
)
def test_aiokafka_has_linger_since_0_14(version, lingers):
    own, not_set = theirs({"linger.ms": 5}, version)
    assert arguments(own) == {"linger_ms": 5}
    assert ("linger.ms" not in not_set) == lingers
