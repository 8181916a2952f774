"""The Java consumer's settings translated for kafka-python, and what is different about the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.python_lib.verifiable.adapter import NotSet
    from clients.adapters.python_lib.verifiable.java import Own

#: The settings with the same meaning in both, under the same name with underscores.
SHARED = (
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "bootstrap.servers",
    "check.crcs",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "enable.auto.commit",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "heartbeat.interval.ms",
    "isolation.level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "metadata.max.age.ms",
    "partition.assignment.strategy",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
)

#: Java name -> why a version may lack an equivalent.
WHY_NOT = {
    "allow.auto.create.topics": "each request for metadata asks the broker to create missing topics",
    "client.rack": "it reads from leaders only",
    "default.api.timeout.ms": "each call has a timeout of its own; the adapter gives none",
    "group.instance.id": "there are no static members",
    "group.protocol": "there is only the classic protocol",
    "isolation.level": "it reads records of all transactions",
    "retry.backoff.max.ms": "the pause between attempts does not grow",
    "socket.connection.setup.timeout.ms": "the consumer does not accept it",
}

#: How long the constructor looks for a broker.
CONSTRUCTOR_BLOCKS = ("bootstrap_timeout_ms", "api_version_auto_timeout_ms")
CONSTRUCTOR_BLOCKS_MS = 5_000
REQUEST, SESSION, IDLE = "request.timeout.ms", "session.timeout.ms", "connections.max.idle.ms"
#: What the client accepts is greater than the session timeout by at least this.
MARGIN_MS = 1_000


def names(defaults: Mapping[str, Any]) -> dict[str, str]:
    """Return Java name -> kafka-python's name, for those in ``defaults``, the version's own table."""
    own = {java: java.replace(".", "_") for java in SHARED}
    return {java: name for java, name in own.items() if name in defaults}


def blocking(defaults: Mapping[str, Any]) -> dict[str, int]:
    """Return the arguments that limit how long the constructor looks for a broker."""
    return {name: CONSTRUCTOR_BLOCKS_MS for name in CONSTRUCTOR_BLOCKS if name in defaults}


def give_way(own: Own, not_set: NotSet, version: str) -> None:
    """Replace values that the client would reject with the nearest valid ones, and report that."""
    name, asked_ms = own.get(REQUEST, ("", None))
    _, session_ms = own.get(SESSION, ("", 10_000))
    if version.startswith(("1.", "2.")) and asked_ms is not None and asked_ms <= session_ms:
        own[REQUEST] = (name, session_ms + MARGIN_MS)
        not_set[REQUEST] = (
            f"{session_ms + MARGIN_MS} is set, since the client requires more than the session timeout"
        )
