"""The configuration that producer and consumer share: settings, changed defaults, two rules, and the attributes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clients.reference.config.config_keys import (
    INT64_MIN,
    DefaultChange,
    Key,
    NotSupportedError,
    Release,
    any_text,
    bootstrap_servers,
    integer,
    long,
    one_of,
    plugins,
    text,
)
from clients.reference.errors import ConfigException
from clients.reference.ports import Node

logger = logging.getLogger("kafka-trial.reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What metadata and network read of a configuration, producer's or consumer's. Times are in ms."""

    bootstrap: tuple[Node, ...]
    client_id: str
    client_dns_lookup: str
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    max_in_flight_requests_per_connection: int
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    interceptor_classes: tuple[Any, ...]
    metric_reporters: tuple[Any, ...]
    metrics_num_samples: int
    metrics_sample_window_ms: int
    security_protocol: str
    sasl_mechanism: str
    sasl_jaas_config: str | None
    send_buffer_bytes: int
    receive_buffer_bytes: int


NO_TLS = "the reference client does not support TLS"
ONLY_PLAIN = "the only SASL mechanism is PLAIN, with sasl.jaas.config"


def _mechanism(value: Any) -> str:
    if text(value) != "PLAIN":
        raise NotSupportedError(ONLY_PLAIN)
    return "PLAIN"


CLIENT_KEYS: Final[Mapping[str, Key]] = {
    "bootstrap.servers": Key((), bootstrap_servers),
    "client.id": Key("", text),
    "request.timeout.ms": Key(30_000, integer(0)),
    "retry.backoff.ms": Key(100, long(0)),
    "retry.backoff.max.ms": Key(1_000, long(0)),
    "reconnect.backoff.ms": Key(50, long(0)),
    "reconnect.backoff.max.ms": Key(1_000, long(0)),
    "socket.connection.setup.timeout.ms": Key(10_000, long(INT64_MIN)),
    "socket.connection.setup.timeout.max.ms": Key(30_000, long(INT64_MIN)),
    "connections.max.idle.ms": Key(540_000, long(INT64_MIN)),
    "client.dns.lookup": Key(
        "use_all_dns_ips", one_of(("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"))
    ),
    "metadata.max.age.ms": Key(300_000, long(0)),
    "metadata.recovery.strategy": Key("rebootstrap", one_of(("none", "rebootstrap"), any_case=True)),
    "metadata.recovery.rebootstrap.trigger.ms": Key(300_000, long(0)),
    "interceptor.classes": Key((), plugins),
    "metric.reporters": Key((), plugins),
    "metrics.num.samples": Key(2, integer(1)),
    "metrics.sample.window.ms": Key(30_000, long(0)),
    "security.protocol": Key(
        "PLAINTEXT",
        one_of(
            ("PLAINTEXT", "SASL_PLAINTEXT"), any_case=True, unsupported={"SSL": NO_TLS, "SASL_SSL": NO_TLS}
        ),
    ),
    "sasl.mechanism": Key("PLAIN", _mechanism),
    "sasl.jaas.config": Key(None, any_text),
    "send.buffer.bytes": Key(131_072, integer(-1)),
}

#: Changed defaults: (setting, since, default).
CLIENT_CHANGES: Final = (
    DefaultChange("socket.connection.setup.timeout.max.ms", (2, 7), 127_000),  # KIP-601
    DefaultChange("socket.connection.setup.timeout.max.ms", (2, 8), 30_000),
    DefaultChange("metadata.recovery.strategy", (2, 0), "none"),
    DefaultChange("metadata.recovery.strategy", (4, 0), "rebootstrap"),  # KIP-899, KIP-1102
)


def settle_backoffs(values: dict[str, Any], given: Mapping[str, Any], release: Release) -> None:
    """Set the maximum of each backoff that is set without one.

    The reconnect backoff is then constant. Before 3.7, the retry backoff is always constant without an explicit
    maximum.
    """
    if "reconnect.backoff.ms" in given and "reconnect.backoff.max.ms" not in given:
        values["reconnect.backoff.max.ms"] = values["reconnect.backoff.ms"]
    if release < (3, 7) and "retry.backoff.max.ms" not in given:
        values["retry.backoff.max.ms"] = values["retry.backoff.ms"]  # KIP-580
    if values["retry.backoff.ms"] > values["retry.backoff.max.ms"]:
        logger.warning("retry.backoff.ms exceeds retry.backoff.max.ms, which is used instead")


def settle_security(values: Mapping[str, Any]) -> None:
    """Raise ConfigException if SASL is selected without credentials."""
    if values["security.protocol"].startswith("SASL") and values["sasl.jaas.config"] is None:
        raise ConfigException(
            "jaas-config-missing", "security.protocol=SASL_PLAINTEXT requires sasl.jaas.config"
        )
