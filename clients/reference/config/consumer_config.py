"""The consumer's configuration: a table of settings and small rules between them (CLI-CFG-04, -05, -06, -09).

It uses the same code as the producer's (config_keys.py). It excludes what only a broker can reject: a session timeout
outside its bounds, and a transaction timeout above its maximum (CLI-CFG-08).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from clients.reference.config.absent_keys import CONSUMER_ABSENT
from clients.reference.config.client_config import (
    CLIENT_CHANGES,
    CLIENT_KEYS,
    ClientConfig,
    settle_backoffs,
    settle_security,
)
from clients.reference.config.config_keys import (
    INT32_MIN,
    NEWEST,
    DefaultChange,
    Key,
    Release,
    any_text,
    boolean,
    integer,
    one_of,
    optional_text,
    own_settings,
    plugin,
    read_keys,
    refuse_foreign,
    release_of,
    split,
    text,
)
from clients.reference.config.durations import whole_ms
from clients.reference.config.java_text import trimmed
from clients.reference.errors import ConfigException, InvalidGroupIdError

#: What the consumer uses, without settings for it: Java's limit of requests in flight, and how long metadata of a topic
#: that is in no subscription is kept up to date.
FIXED = {"max_in_flight_requests_per_connection": 100, "metadata_max_idle_ms": 300_000}
LEGAL_MEMBER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """Validated settings by Java name (``values``), and as attributes those that other code uses. Times are in ms.

    ``own`` are the settings that only plug-ins know.
    """

    group_id: str | None
    group_instance_id: str | None
    group_protocol: str
    group_remote_assignor: str | None
    partition_assignment_strategy: tuple[Any, ...]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    isolation_level: str
    client_rack: str
    allow_auto_create_topics: bool
    exclude_internal_topics: bool
    check_crcs: bool
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    key_deserializer: Any
    value_deserializer: Any
    default_api_timeout_ms: int
    values: Mapping[str, Any]
    own: Mapping[str, Any] = field(default_factory=dict)

    def as_mapping(self) -> dict[str, Any]:
        """Return the final values by Java name, and the plug-ins' own: what plug-ins receive in ``configure``."""
        return {**self.values, **self.own}

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], *, defaults_of: str = NEWEST, number: int = 1
    ) -> ConsumerConfig:
        """Validate settings by Java name. ``number`` makes a generated client.id unique.

        Raise ConfigException, or UsageError for an unknown name, with one sentence.
        """
        release = release_of(defaults_of)
        refuse_foreign("consumer", KEYS, CONSUMER_ABSENT, settings)
        values = read_keys(KEYS, CHANGES, settings, release)
        for rule in (_settle_group_protocol, _settle_auto_commit, settle_backoffs, _settle_offset_reset):
            rule(values, settings, release)
        _settle_heartbeat(values)
        settle_security(values)
        if not values["client.id"]:
            member = values["group.instance.id"] or number
            values["client.id"] = f"consumer-{_or_null(values['group.id'])}-{member}"
        renamed = {name.replace(".", "_"): value for name, value in values.items()}
        renamed |= FIXED | {
            "bootstrap": values["bootstrap.servers"],
            "values": MappingProxyType(values),
            "own": own_settings(KEYS, settings),
        }
        return cls(**{each.name: renamed[each.name] for each in fields(cls)})

    def require_group(self, what: str) -> str:
        """Return the group.id for subscribe() and commits. Raise InvalidGroupIdError without one (CLI-CFG-05)."""
        if not self.group_id:
            raise InvalidGroupIdError(
                "group-id-missing", "{what} needs a group.id, and none was configured", what=what
            )
        return self.group_id

    @property
    def reset_back_ms(self) -> int | None:
        """How far auto.offset.reset=by_duration goes back, in ms. None for the other strategies (KIP-1106)."""
        return duration_ms(self.auto_offset_reset)


def duration_ms(strategy: str) -> int | None:
    """Return ``by_duration:P1DT2H`` in whole milliseconds, or None for any other strategy.

    Raise ValueError if the duration is invalid or negative.
    """
    kind, colon, duration = strategy.partition(":")
    return whole_ms(duration) if colon and kind == "by_duration" else None


def _offset_reset(value: Any) -> str:
    wanted = text(value)
    if wanted in ("latest", "earliest", "none"):
        return wanted
    if duration_ms(wanted) is None:
        raise ValueError("expected one of latest, earliest, none, by_duration:PnDTnHnMnS")
    return wanted


def _member(value: Any) -> str | None:
    """Parse a group.instance.id (JoinGroupRequest.validateGroupInstanceId in Java)."""
    wanted = optional_text(value)
    if wanted is not None and not LEGAL_MEMBER.fullmatch(wanted):
        raise ValueError("expected at most 249 of A-Z a-z 0-9 . _ -, and neither . nor ..")
    return wanted


def _assignors(value: Any) -> tuple[Any, ...]:
    """Parse assignors: plug-ins, or the names that assignors have in the group, such as cooperative-sticky.

    Any text is accepted. What it names is found, or not, when the consumer is created.
    """
    return tuple(split(value))


KEYS: Mapping[str, Key] = {
    **CLIENT_KEYS,
    "client.rack": Key("", text),
    "group.id": Key(None, any_text),
    "group.instance.id": Key(None, _member),
    "group.protocol": Key("classic", one_of(("classic", "consumer"), any_case=True)),
    "group.remote.assignor": Key(None, any_text),
    "partition.assignment.strategy": Key(("range", "cooperative-sticky"), _assignors),
    "session.timeout.ms": Key(45_000, integer(INT32_MIN)),
    "heartbeat.interval.ms": Key(3_000, integer(INT32_MIN)),
    "max.poll.interval.ms": Key(300_000, integer(1)),
    "max.poll.records": Key(500, integer(1)),
    "enable.auto.commit": Key(True, boolean),
    "auto.commit.interval.ms": Key(5_000, integer(0)),
    "auto.offset.reset": Key("latest", _offset_reset),
    "isolation.level": Key("read_uncommitted", one_of(("read_uncommitted", "read_committed"))),
    "allow.auto.create.topics": Key(True, boolean),
    "exclude.internal.topics": Key(True, boolean),
    "check.crcs": Key(True, boolean),
    "fetch.min.bytes": Key(1, integer(0)),
    "fetch.max.bytes": Key(52_428_800, integer(0)),
    "fetch.max.wait.ms": Key(500, integer(0)),
    "max.partition.fetch.bytes": Key(1_048_576, integer(0)),
    "key.deserializer": Key(None, plugin),
    "value.deserializer": Key(None, plugin),
    "default.api.timeout.ms": Key(60_000, integer(0)),
    "receive.buffer.bytes": Key(65_536, integer(-1)),
}

CHANGES = (
    *CLIENT_CHANGES,
    DefaultChange("partition.assignment.strategy", (2, 0), ("range",)),
    DefaultChange("partition.assignment.strategy", (3, 0), ("range", "cooperative-sticky")),  # KIP-726
    DefaultChange("session.timeout.ms", (2, 0), 10_000),
    DefaultChange("session.timeout.ms", (3, 0), 45_000),  # KIP-735
)

#: group.protocol -> the settings that only the other protocol supports (CLI-CFG-06, KIP-848).
FORBIDDEN: Mapping[str, tuple[str, ...]] = {
    "classic": ("group.remote.assignor",),
    "consumer": ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
}


# Rules


def _settle_group_protocol(values: dict[str, Any], given: Mapping[str, Any], release: Release) -> None:
    """CLI-CFG-06: settings that the chosen protocol leaves to the broker cannot be set. Empty text sets nothing."""
    protocol = values["group.protocol"]
    for name in FORBIDDEN[protocol]:
        value = given.get(name)
        if value is not None and not (isinstance(value, str) and not trimmed(value)):
            raise ConfigException(
                "config-not-of-protocol",
                "{name} cannot be set with group.protocol={protocol}",
                name=name,
                protocol=protocol,
            )
    if protocol == "consumer" and values["group.id"] is not None and not values["group.id"].strip():
        raise ConfigException("group-id-empty", "group.id must not be empty with group.protocol=consumer")


def _settle_heartbeat(values: Mapping[str, Any]) -> None:
    """CLI-CFG-04, for the protocol in which the client sets both values."""
    heartbeat, session = values["heartbeat.interval.ms"], values["session.timeout.ms"]
    if values["group.protocol"] == "classic" and heartbeat >= session:
        raise ConfigException(
            "heartbeat-interval-too-long",
            "heartbeat.interval.ms ({heartbeat}) must be lower than session.timeout.ms ({session})",
            heartbeat=heartbeat,
            session=session,
        )


def _settle_auto_commit(values: dict[str, Any], given: Mapping[str, Any], release: Release) -> None:
    """CLI-CFG-05: auto-commit is off without a group (KIP-289)."""
    if values["group.id"] is not None:
        return
    if "enable.auto.commit" in given and values["enable.auto.commit"]:
        raise ConfigException(
            "auto-commit-without-group", "enable.auto.commit cannot be true without a group.id"
        )
    values["enable.auto.commit"] = False


def _settle_offset_reset(values: Mapping[str, Any], given: Mapping[str, Any], release: Release) -> None:
    """CLI-CFG-09: by_duration requires release 4.0."""
    if release < (4, 0) and duration_ms(values["auto.offset.reset"]) is not None:
        raise ConfigException("offset-reset-needs-release", "auto.offset.reset=by_duration needs release 4.0")


def _or_null(group_id: str | None) -> str:
    return "null" if group_id is None else group_id
