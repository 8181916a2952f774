"""Settings: Java's names and rules (CLI-CFG-01, -02, -07, PRD-EXP-04)."""

from __future__ import annotations

import pytest

from clients.reference.config import ProducerConfig
from clients.reference.errors import ConfigException
from clients.reference.ports import Node
from harness.errors import UsageError
from harness.wire.records import Codec


def config(**settings: object) -> ProducerConfig:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ProducerConfig.from_mapping({"bootstrap.servers": "b:1"} | named)


def test_the_defaults_are_those_of_kafka_4():
    plain = config()
    assert (plain.acks, plain.enable_idempotence, plain.linger_ms, plain.batch_size) == (-1, True, 5, 16_384)
    assert (plain.delivery_timeout_ms, plain.request_timeout_ms, plain.max_block_ms) == (
        120_000,
        30_000,
        60_000,
    )
    assert plain.max_in_flight_requests_per_connection == 5
    assert plain.retries == 2**31 - 1


def test_strings_of_a_properties_file_are_read():
    read = config(linger_ms="7", enable_idempotence="false", acks="1", compression_type="zstd")
    assert (read.linger_ms, read.enable_idempotence, read.acks, read.compression_type) == (
        7,
        False,
        1,
        Codec.ZSTD,
    )


@pytest.mark.parametrize(
    "settings",
    [{"acks": 1}, {"acks": "0"}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}],
)
def test_explicit_idempotence_refuses_what_breaks_it(settings):
    with pytest.raises(ConfigException):
        config(enable_idempotence=True, **settings)


def test_default_idempotence_gives_way_but_for_in_flight():
    assert not config(acks=1).enable_idempotence
    assert not config(retries=0).enable_idempotence
    with pytest.raises(ConfigException, match=r"max\.in\.flight"):
        config(max_in_flight_requests_per_connection=6)
    assert config(max_in_flight_requests_per_connection=6, enable_idempotence=False)


def test_the_delivery_timeout_covers_linger_and_request():
    with pytest.raises(ConfigException, match="30005"):
        config(delivery_timeout_ms=30_004)
    assert config(delivery_timeout_ms=30_005).delivery_timeout_ms == 30_005
    assert config(request_timeout_ms=500_000).delivery_timeout_ms == 500_005


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("linger.ms", "soon"),
        ("linger.ms", -1),
        ("linger.ms", True),
        ("linger.ms", 1.5),
        ("acks", 2),
        ("acks", True),
        ("compression.type", "rar"),
        ("enable.idempotence", 1),
        ("bootstrap.servers", ""),
        ("bootstrap.servers", "b"),
        ("bootstrap.servers", "b:0"),
        ("bootstrap.servers", "b:99999"),
        ("client.id", 7),
    ],
)
def test_a_bad_value_is_one_clear_sentence(name, value):
    with pytest.raises(ConfigException, match=name.replace(".", r"\.")) as raised:
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1"} | {name: value})
    assert "\n" not in str(raised.value)


def test_an_unknown_name_gets_a_did_you_mean():
    with pytest.raises(UsageError, match=r"did you mean 'linger\.ms'"):
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1", "linger_ms": 5})


def test_bootstrap_servers_are_nodes_with_ids_of_their_own():
    listed = ProducerConfig.from_mapping({"bootstrap.servers": "a:1, [::1]:2"}).bootstrap
    assert listed == (Node(-1, "a", 1), Node(-2, "::1", 2))
