"""The consumer's settings: groups, their two protocols, and where reading begins."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.errors import ConfigException, InvalidGroupIdError
from clients.reference.producer.producer import Components
from suites.properties import configuration_model as model
from suites.properties.property import client_property, example

RELEASE = st.sampled_from(model.RELEASES)
MILLIS = st.integers(0, 2**31 - 1) | st.sampled_from([2_999, 3_000, 3_001, 9_999, 10_000, 44_999, 45_000])
DURATIONS = ("P1D", "PT1H", "P2DT3H4M5S", "PT0.5S", "PT10M")
NO_DURATIONS = ("", "P", "PT", "1D", "P1", "P1H", "PT1D", "P1DT", "-P1D", "P 1D")
RESETS = ("latest", "earliest", "none")


def configure(components: Components, given: model.Settings, release: model.Release) -> ConsumerConfig:
    """Return a configuration by the client under test."""
    kind: type[ConsumerConfig] = getattr(components, "consumer_config", ConsumerConfig)
    settings = {"bootstrap.servers": "broker:9092"} | dict(given)
    return kind.from_mapping(settings, defaults_of=model.text_of(release))


def refused(components: Components, given: model.Settings, release: model.Release) -> str | None:
    """Return why settings are refused, or None if they are accepted."""
    try:
        configure(components, given, release)
    except ConfigException as refusal:
        return str(refusal)
    return None


@client_property(
    "CLI-CFG-04",
    given=st.fixed_dictionaries(
        {"group.id": st.just("g")},
        optional={"heartbeat.interval.ms": MILLIS, "session.timeout.ms": MILLIS},
    ),
    release=RELEASE,
)
@example(given={"group.id": "g", "heartbeat.interval.ms": 45_000}, release=model.RELEASES[-1])
def a_heartbeat_is_more_frequent_than_sessions_end(
    components: Components, given: dict[str, Any], release: model.Release
) -> None:
    """A heartbeat.interval.ms that is not less than session.timeout.ms is refused, defaults included."""
    heartbeat_ms = given.get("heartbeat.interval.ms", 3_000)
    session_ms = given.get("session.timeout.ms", 45_000 if release >= (3, 0) else 10_000)
    refusal = refused(components, given, release)
    if heartbeat_ms >= session_ms:
        assert refusal and "heartbeat.interval.ms" in refusal, (
            f"{given} in {release}: {refusal or 'accepted'}"
        )
    else:
        assert refusal is None, f"{given} in {release}: {refusal}"
        config = configure(components, given, release)
        assert (config.heartbeat_interval_ms, config.session_timeout_ms) == (heartbeat_ms, session_ms)


@client_property(
    "CLI-CFG-05",
    group_id=st.none() | st.text("abc-", min_size=1, max_size=5),
    auto_commit=st.none() | st.booleans(),
    release=RELEASE,
)
@example(group_id=None, auto_commit=True, release=model.RELEASES[-1])
def without_a_group_nothing_is_committed(
    components: Components, group_id: str | None, auto_commit: bool | None, release: model.Release
) -> None:
    """Without a group.id, auto-commit is off, or an error if requested, and calls that need a group are refused."""
    given: dict[str, Any] = {} if group_id is None else {"group.id": group_id}
    given |= {} if auto_commit is None else {"enable.auto.commit": auto_commit}
    if group_id is None and auto_commit:
        refusal = refused(components, given, release)
        assert refusal and "enable.auto.commit" in refusal, refusal or "accepted"
        return
    config = configure(components, given, release)
    assert config.enable_auto_commit is (group_id is not None and auto_commit is not False)
    for call in ("subscribe", "commit"):
        try:
            named = config.require_group(call)
        except InvalidGroupIdError:
            assert group_id is None, f"{call} refused with group.id={group_id}"
        else:
            assert named == group_id, f"{call} without a group"


GROUP_SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "partition.assignment.strategy": st.just("range"),
    "heartbeat.interval.ms": st.just(3_000),
    "session.timeout.ms": st.just(45_000),
    "group.remote.assignor": st.just("uniform"),
}


@client_property(
    "CLI-CFG-06",
    given=st.fixed_dictionaries({"group.id": st.just("g")}, optional=GROUP_SETTINGS),
    protocol=st.sampled_from([None, "classic", "consumer"]),
)
def a_protocol_refuses_the_settings_of_the_other(
    components: Components, given: dict[str, Any], protocol: str | None
) -> None:
    """Settings that brokers decide under group.protocol=consumer are refused there; classic has no remote assignor."""
    others = (
        {"partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"}
        if protocol == "consumer"
        else {"group.remote.assignor"}
    )
    settings = given | ({} if protocol is None else {"group.protocol": protocol})
    refusal = refused(components, settings, model.RELEASES[-1])
    if others & given.keys():
        assert refusal and any(name in refusal for name in others & given.keys()), (
            refusal or f"accepted: {settings}"
        )
    else:
        assert refusal is None, refusal
        assert configure(components, settings, model.RELEASES[-1]).group_protocol == (protocol or "classic")


@client_property(
    "CLI-CFG-09",
    isolation=st.sampled_from(
        ["read_committed", "read_uncommitted", "", "committed", "read_all", 1, True, None]
    ),
    reset=st.sampled_from(
        [*RESETS, *("by_duration:" + d for d in (*DURATIONS, *NO_DURATIONS)), "smallest", 5, None]
    ),
    release=RELEASE,
)
def isolation_and_reset_take_their_listed_values(
    components: Components, isolation: Any, reset: Any, release: model.Release
) -> None:
    """isolation.level and auto.offset.reset accept listed values (by_duration since 4.0), and refuse others by name."""
    is_level = isolation in ("read_committed", "read_uncommitted")
    is_duration = release >= (4, 0) and str(reset).removeprefix("by_duration:") in DURATIONS
    for name, value, is_listed in (
        ("isolation.level", isolation, is_level),
        ("auto.offset.reset", reset, reset in RESETS or is_duration),
    ):
        refusal = refused(components, {name: value}, release)
        if is_listed:
            assert refusal is None, f"{name}={value!r} in {release}: {refusal}"
            assert getattr(configure(components, {name: value}, release), name.replace(".", "_")) == value
        else:
            assert refusal and name in refusal, f"{name}={value!r} in {release}: {refusal or 'accepted'}"
