"""The Java producer's settings translated for kafka-python: the same names with underscores, if a version has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.python_lib.verifiable.adapter import NotSet
    from clients.adapters.python_lib.verifiable.java import Own

#: The settings with the same meaning in both.
SHARED = (
    "acks",
    "batch.size",
    "bootstrap.servers",
    "buffer.memory",
    "client.id",
    "compression.type",
    "connections.max.idle.ms",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "transaction.timeout.ms",
    "transactional.id",
)

#: Java name -> why a version may lack an equivalent.
WHY_NOT = {
    "buffer.memory": "there is no limit to what is buffered",
    "delivery.timeout.ms": "a batch may wait for request_timeout_ms, and there is no limit in total",
    "enable.idempotence": "there is no idempotent producer",
    "retry.backoff.max.ms": "the pause between attempts does not grow",
    "socket.connection.setup.timeout.ms": "the producer does not accept it",
    "transaction.timeout.ms": "there is no transactional producer",
    "transactional.id": "there is no transactional producer",
}

#: The constructor asks a broker for its version, and blocks like send(). These settings limit that time.
CONSTRUCTOR_BLOCKS = ("bootstrap_timeout_ms", "api_version_auto_timeout_ms")
IN_FLIGHT = "max.in.flight.requests.per.connection"


def names(defaults: Mapping[str, Any]) -> dict[str, str]:
    """Return Java name -> kafka-python's name, for those in ``defaults``, the version's own table."""
    own = {java: java.replace(".", "_") for java in SHARED}
    also = [name for name in CONSTRUCTOR_BLOCKS if name in defaults]
    there = {java: name for java, name in own.items() if name in defaults}
    return there | {"max.block.ms": ", ".join([own["max.block.ms"], *also])}


def give_way(own: Own, not_set: NotSet, version: str) -> None:
    """Replace values that the client would reject with the nearest valid ones, and report that."""
    _, idempotent = own.get("enable.idempotence", ("", False))
    name, asked = own.get(IN_FLIGHT, ("", 1))
    if version.startswith("2.") and idempotent and asked != 1:
        own[IN_FLIGHT] = (name, 1)
        not_set[IN_FLIGHT] = "1 is set, since the client rejects more with idempotence"
