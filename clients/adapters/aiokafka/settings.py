"""The Java producer's settings translated for aiokafka, and those without an equivalent.

The most important one has none: there is no delivery timeout. A batch older than ``request_timeout_ms`` is given up at
the next error, whatever the number of attempts. A batch of an idempotent producer is never given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clients.adapters.python_lib.verifiable.adapter import NotSet
    from clients.adapters.python_lib.verifiable.java import Own

#: Java name -> aiokafka's, for settings with the same meaning.
NAMES = {
    "acks": "acks",
    "batch.size": "max_batch_size",
    "bootstrap.servers": "bootstrap_servers",
    "client.id": "client_id",
    "compression.type": "compression_type",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "enable.idempotence": "enable_idempotence",
    "linger.ms": "linger_ms",
    "max.request.size": "max_request_size",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "transaction.timeout.ms": "transaction_timeout_ms",
    "transactional.id": "transactional_id",
}

#: Java name -> why it has no equivalent.
WHY_NOT = {
    "buffer.memory": "each partition has one open batch, and send() waits for room in it",
    "delivery.timeout.ms": "a batch older than request_timeout_ms fails at its next error, except with idempotence",
    "max.block.ms": "send() waits for request_timeout_ms; the adapter waits this long for start(), commit and abort",
    "max.in.flight.requests.per.connection": "a node gets one request at a time",
    "reconnect.backoff.max.ms": "the pause before the next connection does not grow",
    "reconnect.backoff.ms": "the pause before the next connection is retry_backoff_ms",
    "retries": "it retries until the batch is older than request_timeout_ms, with idempotence without limit",
    "retry.backoff.max.ms": "the pause between attempts does not grow",
    "socket.connection.setup.timeout.ms": "a connection may take request_timeout_ms",
}

LINGER = "linger.ms"


def give_way(own: Own, not_set: NotSet, version: str) -> None:
    """Report the settings whose meaning differs in this version."""
    if LINGER in own and tuple(map(int, version.split(".")[:2])) < (0, 14):
        not_set[LINGER] = "it is set, but is the minimum time between two requests to a node"
