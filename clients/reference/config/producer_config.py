"""The producer's configuration: the Java client's names, ranges, defaults and the rules between settings.

The defaults are those of the newest release, or of any release since 2.0 (``defaults_of``). CHANGES is the table of
changed defaults. Rules that changed with a release (such as whether default idempotence is an error or is switched
off) depend on ``defaults_of`` too. A rule is a small function over all values that completes them or raises
ConfigException.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from clients.reference.config.absent_keys import PRODUCER_ABSENT
from clients.reference.config.client_config import (
    CLIENT_CHANGES,
    CLIENT_KEYS,
    ClientConfig,
    settle_backoffs,
    settle_security,
)
from clients.reference.config.config_keys import (
    INT32_MIN,
    INT64_MAX,
    NEWEST,
    DefaultChange,
    Key,
    Release,
    boolean,
    gzip_level,
    integer,
    long,
    one_of,
    optional_text,
    own_settings,
    plugin,
    read_keys,
    refuse_foreign,
    release_of,
)
from clients.reference.errors import ConfigException
from clients.reference.ports import INT32_MAX
from harness.wire.records import Codec

__all__ = ["INT64_MAX", "KEYS", "MAX_IN_FLIGHT_IDEMPOTENT", "ProducerConfig", "read_settings"]

logger = logging.getLogger("kafka-trial.reference")

MAX_IN_FLIGHT_IDEMPOTENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    """Validated settings. Times are in milliseconds, sizes in bytes, ``acks`` as on the wire (-1 is "all").

    Plug-ins are as given: an object, a class, "module:Class", a Java class, or None. ``own`` are the settings that
    only plug-ins know.
    """

    acks: int
    enable_idempotence: bool
    retries: int
    linger_ms: int
    batch_size: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    compression_type: Codec
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    delivery_timeout_ms: int
    partitioner_class: Any
    partitioner_ignore_keys: bool
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    key_serializer: Any
    value_serializer: Any
    transactional_id: str | None
    transaction_timeout_ms: int
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def guarantee_message_order(self) -> bool:
        """Whether only one request may be in flight: a partition with a batch in flight is muted (PRD-ACC-08)."""
        return self.max_in_flight_requests_per_connection == 1

    def as_mapping(self) -> dict[str, Any]:
        """Return the final values by Java name, and the plug-ins' own: what plug-ins receive in ``configure``."""
        return {**{name: getattr(self, _attribute(name)) for name in KEYS}, **self.own}

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], *, defaults_of: str = NEWEST, number: int = 1
    ) -> ProducerConfig:
        """Validate settings by Java name. ``number`` makes a generated client.id unique.

        Raise ConfigException, or UsageError for an unknown name, with one sentence.
        """
        values = read_settings(settings, defaults_of=defaults_of, number=number)
        renamed = {_attribute(name): value for name, value in values.items()} | {
            "own": own_settings(KEYS, settings)
        }
        return cls(**{each.name: renamed[each.name] for each in fields(cls)})


def _attribute(name: str) -> str:
    return "bootstrap" if name == "bootstrap.servers" else name.replace(".", "_")


def read_settings(given: Mapping[str, Any], *, defaults_of: str = NEWEST, number: int = 1) -> dict[str, Any]:
    """Return all values by Java name, after all rules. Raises the same errors as ``ProducerConfig.from_mapping``."""
    release = release_of(defaults_of)
    refuse_foreign("producer", KEYS, PRODUCER_ABSENT, given)
    values = read_keys(KEYS, CHANGES, given, release)
    _settle_idempotence(values, given, release)
    _settle_transactions(values)
    _settle_client_id(values, given, number)
    _settle_delivery_timeout(values, given)
    settle_backoffs(values, given, release)
    settle_security(values)
    return values


KEYS: Mapping[str, Key] = {
    **CLIENT_KEYS,
    "acks": Key("all", one_of({"all": -1, "-1": -1, "0": 0, "1": 1})),  # Java refuses numbers
    "enable.idempotence": Key(True, boolean),
    "retries": Key(INT32_MAX, integer(0)),
    "max.in.flight.requests.per.connection": Key(5, integer(1)),
    "linger.ms": Key(5, long(0)),
    "batch.size": Key(16_384, integer(0)),
    "buffer.memory": Key(33_554_432, long(0)),
    "max.block.ms": Key(60_000, long(0)),
    "max.request.size": Key(1_048_576, integer(0)),
    "compression.type": Key("none", one_of({codec.name.lower(): codec for codec in Codec})),
    "compression.gzip.level": Key(-1, gzip_level),
    "compression.lz4.level": Key(9, integer(1, 17)),
    "compression.zstd.level": Key(3, integer(-131_072, 22)),
    "delivery.timeout.ms": Key(120_000, integer(0)),
    "metadata.max.idle.ms": Key(300_000, long(5_000)),
    "partitioner.class": Key(None, plugin),
    "partitioner.ignore.keys": Key(False, boolean),
    "partitioner.adaptive.partitioning.enable": Key(True, boolean),
    "partitioner.availability.timeout.ms": Key(0, long(0)),
    "key.serializer": Key(None, plugin),
    "value.serializer": Key(None, plugin),
    "receive.buffer.bytes": Key(32_768, integer(-1)),
    "transactional.id": Key(None, optional_text),
    "transaction.timeout.ms": Key(60_000, integer(INT32_MIN)),
}

#: Changed defaults: (setting, since, default). The other defaults have not changed since 2.0.
CHANGES = (
    *CLIENT_CHANGES,
    DefaultChange("retries", (2, 0), 0),
    DefaultChange("retries", (2, 1), INT32_MAX),  # KIP-91
    DefaultChange("acks", (2, 0), "1"),
    DefaultChange("acks", (3, 0), "all"),  # KIP-679
    DefaultChange("enable.idempotence", (2, 0), False),
    DefaultChange("enable.idempotence", (3, 0), True),  # KIP-679
    DefaultChange("linger.ms", (2, 0), 0),
    DefaultChange("linger.ms", (4, 0), 5),  # KIP-1030
    DefaultChange("partitioner.adaptive.partitioning.enable", (2, 0), False),
    DefaultChange("partitioner.adaptive.partitioning.enable", (3, 3), True),  # KIP-794
)

# Rules


def _settle_idempotence(values: dict[str, Any], given: Mapping[str, Any], release: Release) -> None:
    """CLI-CFG-01, -02: a conflict is an error if idempotence is explicit, and switches off default idempotence.

    * 2.x: idempotence is off unless set explicitly (or needed by transactions). It then sets acks and retries itself.
    * 3.x: any of the three conflicts switches default idempotence off.
    * 4.x: too many requests in flight are an error even with default idempotence.
    """
    if release < (3, 0):
        if "enable.idempotence" not in given and values["transactional.id"] is not None:
            values["enable.idempotence"] = True
        if values["enable.idempotence"] and "acks" not in given:
            values["acks"] = -1
        if values["enable.idempotence"] and "retries" not in given:
            values["retries"] = INT32_MAX
    if not values["enable.idempotence"]:
        return
    conflicts = _idempotence_conflicts(values)
    in_flight = "max.in.flight.requests.per.connection"
    is_error = (
        release < (3, 0) or "enable.idempotence" in given or (in_flight in conflicts and release >= (4, 0))
    )
    if conflicts and is_error:
        raise conflicts.get(in_flight) or next(iter(conflicts.values()))
    for conflict in conflicts.values():
        logger.warning("idempotence is switched off: %s", conflict)
    values["enable.idempotence"] = not conflicts


def _idempotence_conflicts(values: Mapping[str, Any]) -> dict[str, ConfigException]:
    in_flight = "max.in.flight.requests.per.connection"
    broken = {
        "acks": (values["acks"] != -1, "all"),
        "retries": (values["retries"] == 0, "more than 0"),
        in_flight: (values[in_flight] > MAX_IN_FLIGHT_IDEMPOTENT, f"at most {MAX_IN_FLIGHT_IDEMPOTENT}"),
    }
    return {
        name: ConfigException(
            "idempotence-conflict",
            "{name} must be {due} for an idempotent producer, not {value}",
            name=name,
            due=due,
            value=values[name],
        )
        for name, (is_broken, due) in broken.items()
        if is_broken
    }


def _settle_transactions(values: Mapping[str, Any]) -> None:
    """CLI-CFG-03: transactions need idempotence, even if a conflict switched it off."""
    if values["transactional.id"] is not None and not values["enable.idempotence"]:
        raise ConfigException(
            "transactional-without-idempotence", "transactional.id requires enable.idempotence"
        )


def _settle_client_id(values: dict[str, Any], given: Mapping[str, Any], number: int) -> None:
    """CLI-CFG-03: generate a unique client.id if none is given."""
    if "client.id" not in given:
        transactional_id = values["transactional.id"]
        values["client.id"] = f"producer-{number if transactional_id is None else transactional_id}"


def _settle_delivery_timeout(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """PRD-EXP-04: an explicit delivery.timeout.ms that is too short is an error. The default is raised."""
    least = min(values["linger.ms"] + values["request.timeout.ms"], INT32_MAX)
    if values["delivery.timeout.ms"] >= least:
        return
    if "delivery.timeout.ms" in given:
        raise ConfigException(
            "delivery-timeout-too-short",
            "delivery.timeout.ms must be at least linger.ms + request.timeout.ms, which is {least}",
            least=least,
        )
    values["delivery.timeout.ms"] = least
