"""Settings: Java's names, ranges, defaults by release, and rules (CLI-CFG-01, -02, -03, -07, -09, PRD-EXP-04)."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.config.producer_config import (
    CHANGES,
    KEYS,
    ProducerConfig,
    read_settings,
)
from clients.reference.errors import ConfigException
from clients.reference.ports import INT32_MAX, Node
from harness.model.errors import UsageError
from harness.wire.records import Codec
from testkit.codes import raises_code

IN_FLIGHT = "max.in.flight.requests.per.connection"


def config(defaults_of: str = "4.3", **settings: object) -> ProducerConfig:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ProducerConfig.from_mapping({"bootstrap.servers": "b:1"} | named, defaults_of=defaults_of)


def test_defaults_are_those_of_kafka_4():
    plain = config()
    assert (plain.acks, plain.enable_idempotence, plain.linger_ms, plain.batch_size) == (-1, True, 5, 16_384)
    assert (plain.delivery_timeout_ms, plain.request_timeout_ms, plain.max_block_ms) == (
        120_000,
        30_000,
        60_000,
    )
    assert plain.max_in_flight_requests_per_connection == 5
    assert plain.retries == INT32_MAX
    assert (plain.metadata_recovery_strategy, plain.connections_max_idle_ms) == ("rebootstrap", 540_000)
    assert (plain.transactional_id, plain.transaction_timeout_ms) == (None, 60_000)


@pytest.mark.parametrize(
    ("release", "acks", "idempotence", "linger_ms", "recovery"),
    [
        ("2.0", 1, False, 0, "none"),
        ("2.8.2", 1, False, 0, "none"),
        ("3.0", -1, True, 0, "none"),
        ("3.9", -1, True, 0, "none"),
        ("4.0", -1, True, 5, "rebootstrap"),
        ("4.3.1", -1, True, 5, "rebootstrap"),
    ],
)
def test_release_selects_the_defaults(release, acks, idempotence, linger_ms, recovery):
    """KIP-679, KIP-1030, KIP-899."""
    of = config(release)
    assert (of.acks, of.enable_idempotence, of.linger_ms) == (acks, idempotence, linger_ms)
    assert of.metadata_recovery_strategy == recovery


def test_smaller_changes_of_defaults():
    assert [config(release).retries for release in ("2.0", "2.1")] == [0, INT32_MAX]
    setup = [config(release).socket_connection_setup_timeout_max_ms for release in ("2.7", "2.8")]
    assert setup == [127_000, 30_000]
    assert [config(release, retry_backoff_ms=70).retry_backoff_max_ms for release in ("3.6", "3.7")] == [
        70,
        1_000,
    ]


def test_newest_change_is_the_default_of_the_table():
    newest = {change.setting: change.default for change in CHANGES}
    assert {name: KEYS[name].default for name in newest} == newest


@pytest.mark.parametrize("release", ["1.1", "four", "4", "", "2"])
def test_unknown_release_is_refused(release):
    with raises_code(ConfigException, "unknown-release"):
        config(release)


def test_properties_file_strings_are_parsed():
    read = config(linger_ms="7", enable_idempotence="false", acks="1", compression_type="zstd")
    assert (read.linger_ms, read.enable_idempotence, read.acks, read.compression_type) == (
        7,
        False,
        1,
        Codec.ZSTD,
    )


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.3"])
@pytest.mark.parametrize(
    "settings",
    [{"acks": 1}, {"acks": "0"}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}],
)
def test_explicit_idempotence_refuses_conflicting_settings(settings, release):
    """CLI-CFG-01."""
    with raises_code(ConfigException, "idempotence-conflict", name=next(iter(settings)).replace("_", ".")):
        config(release, enable_idempotence=True, **settings)


def test_default_idempotence_is_disabled_by_conflicts_except_in_flight():
    """CLI-CFG-02, 4.x."""
    assert not config(acks=1).enable_idempotence
    assert not config(retries=0).enable_idempotence
    with raises_code(ConfigException, "idempotence-conflict"):
        config(max_in_flight_requests_per_connection=6)
    assert config(max_in_flight_requests_per_connection=6, enable_idempotence=False)


@pytest.mark.parametrize(
    "settings", [{"acks": 1}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}]
)
def test_default_idempotence_is_disabled_with_a_warning_in_3_x(settings, caplog):
    """CLI-CFG-02."""
    with caplog.at_level(logging.WARNING, logger="kafka-trial.reference"):
        assert not config("3.9", **settings).enable_idempotence
    assert next(iter(settings)).replace("_", ".") in caplog.text


def test_explicit_idempotence_completes_the_defaults_of_2_x():
    """CLI-CFG-01."""
    asked = config("2.0", enable_idempotence=True)
    assert (asked.acks, asked.retries) == (-1, INT32_MAX)


def test_transactional_id_requires_idempotence():
    """CLI-CFG-03."""
    for settings in ({"enable.idempotence": False}, {"acks": 1}, {"retries": 0}):
        with raises_code(ConfigException, "transactional-without-idempotence"):
            read_settings({"bootstrap.servers": "b:1", "transactional.id": "t", **settings})
    old = read_settings({"bootstrap.servers": "b:1", "transactional.id": "t"}, defaults_of="2.8")
    assert old["enable.idempotence"]


def test_producer_gets_a_unique_client_id():
    """CLI-CFG-03."""
    base = {"bootstrap.servers": "b:1"}
    assert read_settings(base, number=3)["client.id"] == "producer-3"
    assert read_settings({**base, "transactional.id": "t"}, number=3)["client.id"] == "producer-t"
    assert read_settings({**base, "client.id": "mine", "transactional.id": "t"})["client.id"] == "mine"


def test_transactional_settings_are_accepted():
    given = config(transactional_id="t", transaction_timeout_ms=7_000)
    assert (given.transactional_id, given.transaction_timeout_ms, given.client_id) == (
        "t",
        7_000,
        "producer-t",
    )
    assert given.enable_idempotence


def test_two_phase_commit_is_refused_by_name():
    with raises_code(ConfigException, "config-not-settable", name="transaction.two.phase.commit.enable"):
        config(transaction_two_phase_commit_enable=True)


def test_delivery_timeout_covers_linger_and_request():
    """PRD-EXP-04."""
    with raises_code(ConfigException, "delivery-timeout-too-short", least=30005):
        config(delivery_timeout_ms=30_004)
    assert config(delivery_timeout_ms=30_005).delivery_timeout_ms == 30_005
    assert config(request_timeout_ms=500_000).delivery_timeout_ms == 500_005
    assert config(request_timeout_ms=INT32_MAX, linger_ms=2**40).delivery_timeout_ms == INT32_MAX


def test_reconnect_backoff_without_maximum_is_constant():
    assert config(reconnect_backoff_ms=70).reconnect_backoff_max_ms == 70
    assert config(reconnect_backoff_ms=70, reconnect_backoff_max_ms=900).reconnect_backoff_max_ms == 900


def test_sasl_requires_credentials():
    with raises_code(ConfigException, "jaas-config-missing"):
        config(security_protocol="SASL_PLAINTEXT")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("linger.ms", "soon"),
        ("linger.ms", -1),
        ("linger.ms", True),
        ("linger.ms", 1.5),
        ("linger.ms", 2**63),
        ("acks", 2),
        ("acks", True),
        ("acks", "ALL"),
        ("compression.type", "rar"),
        ("compression.gzip.level", 0),
        ("compression.lz4.level", 18),
        ("compression.zstd.level", 23),
        ("enable.idempotence", 1),
        ("metadata.recovery.strategy", "pray"),
        ("metadata.max.idle.ms", 4_999),
        ("linger.ms", "1_000"),
        ("security.protocol", "TLS"),
        ("metadata.recovery.strategy", None),
        ("client.dns.lookup", "default"),
        ("interceptor.classes", "no-class"),
        ("value.serializer", "no-class"),
        ("transactional.id", ""),
        ("bootstrap.servers", ""),
        ("bootstrap.servers", "b"),
        ("bootstrap.servers", "b:0"),
        ("bootstrap.servers", "b:99999"),
        ("bootstrap.servers", "good:1,bad"),
        ("client.id", 7),
    ],
)
def test_bad_value_is_reported(name, value):
    """CLI-CFG-07, -09."""
    with raises_code(ConfigException, "config-value", name=name) as raised:
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1"} | {name: value})
    assert "\n" not in str(raised.value)


def test_unknown_name_gets_a_suggestion():
    """CLI-CFG-07. This is stricter than Java, which only warns."""
    with raises_code(UsageError, "unknown-name", suggestion="linger.ms"):
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1", "linger_ms": 5})


@pytest.mark.parametrize("name", ["ssl.keystore.location", "sasl.login.class", "enable.metrics.push"])
def test_unsupported_java_setting_is_refused_with_a_reason(name):
    with raises_code(ConfigException, "config-not-settable", name=name):
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1", name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("security.protocol", "ssl"), ("security.protocol", "SASL_SSL"), ("sasl.mechanism", "GSSAPI")],
)
def test_value_that_only_java_supports_is_refused_with_a_reason(name, value):
    with raises_code(ConfigException, "config-not-supported", name=name):
        ProducerConfig.from_mapping({"bootstrap.servers": "b:1", name: value})


def test_list_has_no_empty_entries_and_each_once_since_4_2(caplog):
    """CLI-CFG-07, KIP-1161."""
    with raises_code(ConfigException, "config-list"):
        config("4.2", bootstrap_servers="a:1,,b:2")
    assert config("4.2", bootstrap_servers="a:1,b:2 , a:1").bootstrap == (Node(-1, "a", 1), Node(-2, "b", 2))
    assert "bootstrap.servers" in caplog.text
    for entries in ("a:1,a:1", "a:1,,b:2"):
        assert config("4.1", bootstrap_servers=entries).bootstrap[0] == Node(-1, "a", 1)


def test_bootstrap_servers_are_nodes_with_unique_ids():
    """CLI-CFG-07."""
    listed = ProducerConfig.from_mapping({"bootstrap.servers": "a:1, [::1]:2,PLAINTEXT://c:3"}).bootstrap
    assert listed == (Node(-1, "a", 1), Node(-2, "::1", 2), Node(-3, "c", 3))


SOME = {
    "acks": st.sampled_from(["all", "-1", -1, 0, 1, "1"]),
    "enable.idempotence": st.booleans(),
    "retries": st.integers(0, 3),
    IN_FLIGHT: st.integers(1, 8),
    "linger.ms": st.integers(0, 100_000),
    "request.timeout.ms": st.integers(0, 200_000),
    "delivery.timeout.ms": st.integers(0, 300_000),
    "reconnect.backoff.ms": st.integers(0, 2_000),
    "reconnect.backoff.max.ms": st.integers(0, 2_000),
}


@given(
    st.fixed_dictionaries({}, optional=SOME),
    st.sampled_from(["2.0", "2.1", "2.8", "3.0", "3.9", "4.0", "4.3"]),
)
def test_any_settings_are_refused_or_satisfy_every_rule(settings, release):
    """CLI-CFG-01, -02, PRD-EXP-04 as properties. Explicit settings are never silently changed."""
    try:
        made = ProducerConfig.from_mapping({"bootstrap.servers": "b:1", **settings}, defaults_of=release)
    except ConfigException:
        assert settings, "the defaults of every release are a valid configuration"
        return
    if made.enable_idempotence:
        assert (made.acks, made.retries > 0, made.max_in_flight_requests_per_connection <= 5) == (
            -1,
            True,
            True,
        )
    assert made.delivery_timeout_ms >= min(made.linger_ms + made.request_timeout_ms, INT32_MAX)
    for name, value in settings.items():
        assert made.as_mapping()[name] == KEYS[name].read(name, value)
    if not made.enable_idempotence and release >= "3":
        conflicts = {"acks", "retries", IN_FLIGHT, "enable.idempotence"} & settings.keys()
        assert conflicts, "idempotence is off without a setting that disables it"


@given(st.fixed_dictionaries({}, optional=SOME))
def test_settings_survive_conversion_to_text(settings):
    def read(values):
        try:
            return ProducerConfig.from_mapping({"bootstrap.servers": "b:1", **values})
        except ConfigException as error:
            return type(error)

    assert read(settings) == read({name: str(value) for name, value in settings.items()})
