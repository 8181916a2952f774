"""The settings of Java's producer that a campaign may vary, by name, with the values that Java accepts (Kafka 4.3).

``WITHHELD`` has those that it may not vary, each with the reason. Together they are all settings of ``ProducerConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.plugins.workload import Setting as Value
from harness.plugins.workload import Values

#: Brokers remember five batches. With more in flight on a connection, they could not answer a repeated one.
MAX_IN_FLIGHT_IDEMPOTENT: Final = 5

#: Settings that harness, checks and consequences calculate with, so their values must be known.
NEEDED: Final = (
    "delivery.timeout.ms",
    "linger.ms",
    "max.block.ms",
    "reconnect.backoff.max.ms",
    "request.timeout.ms",
)

_INT: Final = range(2**31)
_LONG: Final = range(2**63)
_WINDOW: Final = range(-1, 2**31)

SETTINGS: Final[Mapping[str, Values]] = {
    "acks": ("all", "-1", "0", "1"),
    "batch.size": _INT,
    "buffer.memory": _LONG,
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "compression.gzip.level": range(1, 10),
    "compression.lz4.level": range(1, 18),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "compression.zstd.level": range(-131_072, 23),
    "connections.max.idle.ms": _LONG,
    "delivery.timeout.ms": _INT,
    "enable.idempotence": None,
    "enable.metrics.push": None,
    "linger.ms": _LONG,
    "max.block.ms": _LONG,
    "max.in.flight.requests.per.connection": range(1, 2**31),
    "max.request.size": _INT,
    "metadata.max.age.ms": _LONG,
    "metadata.max.idle.ms": range(5_000, 2**63),
    "metadata.recovery.rebootstrap.trigger.ms": _LONG,
    "metadata.recovery.strategy": ("rebootstrap", "none"),
    "metrics.num.samples": range(1, 2**31),
    "metrics.recording.level": ("INFO", "DEBUG", "TRACE"),
    "metrics.sample.window.ms": _LONG,
    "partitioner.adaptive.partitioning.enable": None,
    "partitioner.availability.timeout.ms": _LONG,
    "partitioner.ignore.keys": None,
    "receive.buffer.bytes": _WINDOW,
    "reconnect.backoff.max.ms": _LONG,
    "reconnect.backoff.ms": _LONG,
    "request.timeout.ms": _INT,
    "retries": _INT,
    "retry.backoff.max.ms": _LONG,
    "retry.backoff.ms": _LONG,
    "send.buffer.bytes": _WINDOW,
    "socket.connection.setup.timeout.max.ms": _LONG,
    "socket.connection.setup.timeout.ms": _LONG,
}

_PLAIN: Final = "the brokers of a trial speak PLAINTEXT, so security is not on trial"
_LANGUAGE: Final = "it names a class, which only a Java client has"
_TRANSACTIONS: Final = "it is about transactions, which are a workload of their own"
_TEXT: Final = "the harness sends text and compares it with the broker's log"

#: Settings of Java's producer that stay as they are: name -> why.
WITHHELD: Final[Mapping[str, str]] = {
    "auto.include.jmx.reporter": _LANGUAGE,
    "bootstrap.servers": "each trial has an address of its own, of the proxy between client and broker",
    "client.id": "the harness recognizes the client's requests by it",
    "config.providers": _LANGUAGE,
    "interceptor.classes": _LANGUAGE,
    "key.serializer": _TEXT,
    "metric.reporters": _LANGUAGE,
    "partitioner.class": _LANGUAGE,
    "sasl.*": _PLAIN,
    "security.protocol": _PLAIN,
    "security.providers": _PLAIN,
    "ssl.*": _PLAIN,
    "transaction.timeout.ms": _TRANSACTIONS,
    "transaction.two.phase.commit.enable": _TRANSACTIONS,
    "transactional.id": _TRANSACTIONS,
    "value.serializer": _TEXT,
}


def refused(settings: Mapping[str, Value]) -> str | None:
    """Return why Java's producer would refuse these settings, which are complete, or None if it would start."""
    patience_ms, least_ms = (
        int(settings["delivery.timeout.ms"]),
        int(settings["linger.ms"]) + int(settings["request.timeout.ms"]),
    )
    if patience_ms < least_ms:
        return f"delivery.timeout.ms {patience_ms} is less than linger.ms and request.timeout.ms, {least_ms}"
    if not settings["enable.idempotence"]:
        return None
    if str(settings["acks"]) not in ("all", "-1"):
        return f"idempotence needs acks=all, not {settings['acks']}"
    if not int(settings["retries"]):
        return "idempotence needs retries"
    if int(settings["max.in.flight.requests.per.connection"]) > MAX_IN_FLIGHT_IDEMPOTENT:
        return f"idempotence allows {MAX_IN_FLIGHT_IDEMPOTENT} requests in flight a connection"
    return None
