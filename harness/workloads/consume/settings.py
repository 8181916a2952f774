"""The settings of Java's consumer that a campaign may vary, by name, with the values that Java accepts (Kafka 4.3).

``WITHHELD`` has those that it may not vary, each with the reason. Together they are all settings of ``ConsumerConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.plugins.workload import Setting as Value
from harness.plugins.workload import Values

#: Settings that harness, checks and consequences calculate with, so their values must be known.
NEEDED: Final = (
    "default.api.timeout.ms",
    "max.poll.interval.ms",
    "reconnect.backoff.max.ms",
    "request.timeout.ms",
)

_INT: Final = range(2**31)
_LONG: Final = range(2**63)
_WINDOW: Final = range(-1, 2**31)

SETTINGS: Final[Mapping[str, Values]] = {
    "auto.commit.interval.ms": _INT,
    "auto.offset.reset": ("earliest", "latest", "none"),
    "check.crcs": None,
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "connections.max.idle.ms": _LONG,
    "default.api.timeout.ms": _INT,
    "enable.auto.commit": None,
    "enable.metrics.push": None,
    "exclude.internal.topics": None,
    "fetch.max.bytes": _INT,
    "fetch.max.wait.ms": _INT,
    "fetch.min.bytes": _INT,
    "group.protocol": ("classic", "consumer"),
    "group.remote.assignor": ("uniform", "range"),
    "heartbeat.interval.ms": _INT,
    "isolation.level": ("read_uncommitted", "read_committed"),
    "max.partition.fetch.bytes": _INT,
    "max.poll.interval.ms": range(1, 2**31),
    "max.poll.records": range(1, 2**31),
    "metadata.max.age.ms": _LONG,
    "metadata.recovery.rebootstrap.trigger.ms": _LONG,
    "metadata.recovery.strategy": ("rebootstrap", "none"),
    "metrics.num.samples": range(1, 2**31),
    "metrics.recording.level": ("INFO", "DEBUG", "TRACE"),
    "metrics.sample.window.ms": _LONG,
    "partition.assignment.strategy": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "receive.buffer.bytes": _WINDOW,
    "reconnect.backoff.max.ms": _LONG,
    "reconnect.backoff.ms": _LONG,
    "request.timeout.ms": _INT,
    "retry.backoff.max.ms": _LONG,
    "retry.backoff.ms": _LONG,
    "send.buffer.bytes": _WINDOW,
    "session.timeout.ms": _INT,
    "socket.connection.setup.timeout.max.ms": _LONG,
    "socket.connection.setup.timeout.ms": _LONG,
}

_PLAIN: Final = "the brokers of a trial speak PLAINTEXT, so security is not on trial"
_LANGUAGE: Final = "it names a class, which only a Java client has"
_TEXT: Final = "the harness writes text and compares it with what the client delivers"
_OURS: Final = "the harness gives each group and member its own"

#: Settings of Java's consumer that stay as they are: name -> why.
WITHHELD: Final[Mapping[str, str]] = {
    "allow.auto.create.topics": "the topics of a trial exist before its clients start",
    "auto.include.jmx.reporter": _LANGUAGE,
    "bootstrap.servers": "each trial has an address of its own, of the proxy between client and broker",
    "client.id": "the harness recognizes the client's requests by it",
    "client.rack": "the brokers of a trial have no racks",
    "config.providers": _LANGUAGE,
    "group.id": _OURS,
    "group.instance.id": _OURS,
    "interceptor.classes": _LANGUAGE,
    "key.deserializer": _TEXT,
    "metric.reporters": _LANGUAGE,
    "sasl.*": _PLAIN,
    "security.protocol": _PLAIN,
    "security.providers": _PLAIN,
    "share.acknowledgement.mode": "share groups are not on trial",
    "ssl.*": _PLAIN,
    "value.deserializer": _TEXT,
}


def refused(settings: Mapping[str, Value]) -> str | None:
    """Return why Java's consumer would refuse these settings, which are complete, or None if it would start."""
    heartbeat, session = settings.get("heartbeat.interval.ms"), settings.get("session.timeout.ms")
    if heartbeat is not None and session is not None and int(heartbeat) >= int(session):
        return f"heartbeat.interval.ms {heartbeat} is not less than session.timeout.ms, {session}"
    return None
