"""The producer's configuration: the Java client's names, defaults (4.x) and rules between them, as one table.

Values may be given as Python values or as the strings of a properties file. Unknown names are refused with a
did-you-mean, unlike Java, which only logs them: a fault harness must not run with a setting that was never applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from clients.reference.errors import ConfigException
from clients.reference.ports import INT32_MAX, Node
from harness.errors import unknown
from harness.wire.records import Codec

INT64_MAX = 2**63 - 1
MAX_IN_FLIGHT_IDEMPOTENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Validated settings; times in milliseconds, sizes in bytes, ``acks`` as on the wire (-1 is "all")."""

    bootstrap: tuple[Node, ...]
    client_id: str
    acks: int
    enable_idempotence: bool
    retries: int
    max_in_flight_requests_per_connection: int
    linger_ms: int
    batch_size: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    compression_type: Codec
    delivery_timeout_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    partitioner_ignore_keys: bool
    send_buffer_bytes: int
    receive_buffer_bytes: int

    @property
    def guarantee_message_order(self) -> bool:
        """One request in flight: a partition is muted while a batch of it is out (PRD-ACC-08)."""
        return self.max_in_flight_requests_per_connection == 1

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> ProducerConfig:
        """Validate settings by Java name; raises ConfigException or UsageError with one sentence."""
        for name in settings:
            if name not in KEYS:
                raise unknown("producer setting", name, KEYS)
        values = {name: key.read(name, settings.get(name, key.default)) for name, key in KEYS.items()}
        _settle_idempotence(values, settings)
        _settle_delivery_timeout(values, settings)
        renamed = {_attribute(name): value for name, value in values.items()}
        return cls(**{field.name: renamed[field.name] for field in fields(cls)})


def _attribute(name: str) -> str:
    return "bootstrap" if name == "bootstrap.servers" else name.replace(".", "_")


@dataclass(frozen=True, slots=True)
class Key:
    """How one setting is read: its default, and a parser that raises ValueError with what was expected."""

    default: Any
    parse: Callable[[Any], Any]

    def read(self, name: str, value: Any) -> Any:
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            raise ConfigException(f"{name}={value!r}: {error}") from None


def integer(low: int, high: int = INT32_MAX) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("expected a whole number")
        try:
            number = int(value)
        except ValueError:
            raise ValueError("expected a whole number") from None
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low} to {high}")
        return number

    return parse


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("expected true or false")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def one_of(choices: Mapping[str, Any]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if isinstance(value, bool) or str(value) not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return choices[str(value)]

    return parse


def bootstrap_servers(value: Any) -> tuple[Node, ...]:
    """``host:port`` entries, as "a:1,b:2" or a list; IPv6 hosts in brackets. Ids count down from -1."""
    entries = value.split(",") if isinstance(value, str) else list(value or ())
    nodes: list[Node] = []
    for entry in (str(entry).strip() for entry in entries):
        host, colon, port = entry.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
            raise ValueError(f"expected host:port, not {entry!r}")
        nodes.append(Node(-1 - len(nodes), host, int(port)))
    if not nodes:
        raise ValueError("expected at least one host:port")
    return tuple(nodes)


KEYS: Mapping[str, Key] = {
    "bootstrap.servers": Key((), bootstrap_servers),
    "client.id": Key("kafka-trial-reference", text),
    "acks": Key("all", one_of({"all": -1, "-1": -1, "0": 0, "1": 1})),
    "enable.idempotence": Key(True, boolean),
    "retries": Key(INT32_MAX, integer(0)),
    "max.in.flight.requests.per.connection": Key(5, integer(1)),
    "linger.ms": Key(5, integer(0)),
    "batch.size": Key(16_384, integer(0)),
    "buffer.memory": Key(33_554_432, integer(0, INT64_MAX)),
    "max.block.ms": Key(60_000, integer(0, INT64_MAX)),
    "max.request.size": Key(1_048_576, integer(0)),
    "compression.type": Key("none", one_of({codec.name.lower(): codec for codec in Codec})),
    "delivery.timeout.ms": Key(120_000, integer(0)),
    "request.timeout.ms": Key(30_000, integer(0)),
    "retry.backoff.ms": Key(100, integer(0)),
    "retry.backoff.max.ms": Key(1_000, integer(0)),
    "reconnect.backoff.ms": Key(50, integer(0)),
    "reconnect.backoff.max.ms": Key(1_000, integer(0)),
    "socket.connection.setup.timeout.ms": Key(10_000, integer(0)),
    "socket.connection.setup.timeout.max.ms": Key(30_000, integer(0)),
    "metadata.max.age.ms": Key(300_000, integer(0)),
    "metadata.max.idle.ms": Key(300_000, integer(5_000)),
    "partitioner.ignore.keys": Key(False, boolean),
    "send.buffer.bytes": Key(131_072, integer(-1)),
    "receive.buffer.bytes": Key(32_768, integer(-1)),
}


def _settle_idempotence(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """CLI-CFG-01, -02 (the 4.x rules): explicit idempotence conflicts are errors, a default gives way."""
    if not values["enable.idempotence"]:
        return
    if values["max.in.flight.requests.per.connection"] > MAX_IN_FLIGHT_IDEMPOTENT:
        raise ConfigException(
            f"max.in.flight.requests.per.connection must be at most {MAX_IN_FLIGHT_IDEMPOTENT} "
            "for an idempotent producer"
        )
    conflicts = [
        sentence
        for broken, sentence in (
            (values["acks"] != -1, "acks must be all for an idempotent producer"),
            (values["retries"] == 0, "retries must not be 0 for an idempotent producer"),
        )
        if broken
    ]
    if conflicts and "enable.idempotence" in given:
        raise ConfigException(conflicts[0])
    values["enable.idempotence"] = not conflicts


def _settle_delivery_timeout(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """PRD-EXP-04: an explicit delivery.timeout.ms that is too short is an error, the default is raised."""
    least = min(values["linger.ms"] + values["request.timeout.ms"], INT32_MAX)
    if values["delivery.timeout.ms"] >= least:
        return
    if "delivery.timeout.ms" in given:
        raise ConfigException(
            f"delivery.timeout.ms must be at least linger.ms + request.timeout.ms, which is {least}"
        )
    values["delivery.timeout.ms"] = least
