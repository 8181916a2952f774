"""The consumer's settings and the rules between them (CLI-CFG-04, -05, -06, -09)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.config.consumer_config import (
    CHANGES,
    KEYS,
    ConsumerConfig,
    duration_ms,
)
from clients.reference.errors import ConfigException, InvalidGroupIdError
from harness.model.errors import UsageError
from testkit.codes import raises_code


def config(defaults_of: str = "4.3", **settings: object) -> ConsumerConfig:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ConsumerConfig.from_mapping({"bootstrap.servers": "b:1"} | named, defaults_of=defaults_of)


def test_heartbeat_must_be_shorter_than_session():
    """CLI-CFG-04."""
    with raises_code(ConfigException, "heartbeat-interval-too-long"):
        config(group_id="g", heartbeat_interval_ms=45_000)
    with raises_code(ConfigException, "heartbeat-interval-too-long"):
        config(group_id="g", session_timeout_ms=3_000)
    assert config(group_id="g", heartbeat_interval_ms=44_999).heartbeat_interval_ms == 44_999


def test_session_timeout_default_grew_in_3_0():
    """CLI-CFG-04, KIP-735."""
    assert [config(release).session_timeout_ms for release in ("2.8", "3.0")] == [10_000, 45_000]


def test_subscribe_and_commit_require_a_group():
    """CLI-CFG-05."""
    alone = config()
    assert not alone.enable_auto_commit
    for what in ("subscribe()", "commit()"):
        with raises_code(InvalidGroupIdError, "group-id-missing", what=what):
            alone.require_group(what)
    with raises_code(ConfigException, "auto-commit-without-group"):
        config(enable_auto_commit=True)
    assert not config(enable_auto_commit="false").enable_auto_commit
    member = config(group_id="g")
    assert member.enable_auto_commit and member.require_group("commit()") == "g"


#: CLASSIC_PROTOCOL_UNSUPPORTED_CONFIGS and CONSUMER_PROTOCOL_UNSUPPORTED_CONFIGS of ConsumerConfig 4.1.1, without
#: the settings of share groups.
FORBIDDEN = {
    "classic": ["group.remote.assignor"],
    "consumer": ["partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"],
}


@pytest.mark.parametrize(
    ("protocol", "name"), [(protocol, name) for protocol in FORBIDDEN for name in FORBIDDEN[protocol]]
)
def test_each_group_protocol_forbids_settings_of_the_other(protocol, name):
    """CLI-CFG-06."""
    value = "range" if "assign" in name else 5_000
    other = next(each for each in FORBIDDEN if each != protocol)
    settings = {"bootstrap.servers": "b:1", "group.id": "g", name: value}
    with raises_code(ConfigException, "config-not-of-protocol", name=name):
        ConsumerConfig.from_mapping({**settings, "group.protocol": protocol})
    assert ConsumerConfig.from_mapping({**settings, "group.protocol": other})


def test_classic_protocol_is_the_default():
    """CLI-CFG-06."""
    assert config().group_protocol == "classic"
    with raises_code(ConfigException, "group-id-empty"):
        config(group_protocol="consumer", group_id=" ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("isolation.level", "serializable"),
        ("auto.offset.reset", "smallest"),
        ("auto.offset.reset", "EARLIEST"),
        ("group.instance.id", "a/b"),
        ("group.instance.id", ".."),
        ("group.instance.id", "x" * 250),
        ("auto.offset.reset", "by_duration:1D"),
        ("auto.offset.reset", "by_duration:-PT1S"),
        ("auto.offset.reset", "by_duration:P"),
        ("group.protocol", "share"),
        ("max.poll.records", 0),
    ],
)
def test_unlisted_value_is_refused(name, value):
    """CLI-CFG-09."""
    with raises_code(ConfigException, "config-value", name=name):
        ConsumerConfig.from_mapping({"bootstrap.servers": "b:1", name: value})


def test_listed_values_are_accepted():
    """CLI-CFG-09."""
    assert config().isolation_level == "read_uncommitted"
    assert config(isolation_level="read_committed").isolation_level == "read_committed"
    assert [config(auto_offset_reset=each).auto_offset_reset for each in ("latest", "earliest", "none")] == [
        "latest",
        "earliest",
        "none",
    ]
    assert config(auto_offset_reset="by_duration:P1DT2H3M4.5S").reset_back_ms == 93_784_500
    assert config().reset_back_ms is None
    with raises_code(ConfigException, "offset-reset-needs-release"):
        config("3.9", auto_offset_reset="by_duration:P1D")


@given(st.integers(0, 999), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_durations_are_parsed(days, hours, minutes, seconds):
    """CLI-CFG-09, KIP-1106."""
    told = duration_ms(f"by_duration:P{days}DT{hours}H{minutes}M{seconds}S")
    assert told == (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000


def test_consumer_gets_a_unique_client_id():
    assert config().client_id == "consumer-null-1"
    assert config(group_id="g", group_instance_id="i").client_id == "consumer-g-i"
    assert config(client_id="mine").client_id == "mine"


def test_unknown_name_is_refused():
    with raises_code(UsageError, "unknown-name", suggestion="group.id"):
        ConsumerConfig.from_mapping({"bootstrap.servers": "b:1", "group_id": "g"})
    newest = {change.setting: change.default for change in CHANGES}
    assert {name: KEYS[name].default for name in newest} == newest
    assert ConsumerConfig.from_mapping({"bootstrap.servers": "b:1"}).values["fetch.max.wait.ms"] == 500


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "group.id": st.sampled_from(["g", "", None]),
            "group.protocol": st.sampled_from(["classic", "consumer", "CONSUMER"]),
            "group.remote.assignor": st.just("uniform"),
            "session.timeout.ms": st.integers(1, 50_000),
            "heartbeat.interval.ms": st.integers(1, 50_000),
            "enable.auto.commit": st.booleans(),
        },
    )
)
def test_any_settings_are_refused_or_satisfy_every_rule(settings):
    """CLI-CFG-04, -05, -06 as properties."""
    try:
        made = ConsumerConfig.from_mapping({"bootstrap.servers": "b:1", **settings})
    except ConfigException:
        assert settings
        return
    assert made.group_id is not None or not made.enable_auto_commit
    assert not [name for name in FORBIDDEN[made.group_protocol] if name in settings]
    if made.group_protocol == "classic":
        assert made.heartbeat_interval_ms < made.session_timeout_ms
