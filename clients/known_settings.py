"""What is known of a built-in client's settings before it runs: the files ``capabilities.json``, and what it reserves.

A client's own settings never override what the harness decides: the brokers' addresses, the client id, security, and
the hooks through which a program observes its client. The names of settings that also have a Java name are not listed,
because ``capabilities.json`` has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from harness.model.contract import CLIENT_CONFIG_FEATURE
from harness.plugins.client import Capabilities

ADAPTERS: Final = Path(__file__).parent / "adapters"
FILE: Final = "capabilities.json"

ADDRESS: Final = "each trial has an address of its own, of the proxy between client and broker"
NAME: Final = "the harness recognizes the client's requests by its id"
PLAIN: Final = "the brokers of a trial speak PLAINTEXT, so security is not on trial"
HOOK: Final = "the client's program uses it to observe the client, or it takes code"
TRANSACTIONS: Final = "transactions are not on trial"

LIBRDKAFKA: Final[Mapping[str, str]] = {
    "bootstrap.servers": ADDRESS,
    "metadata.broker.list": ADDRESS,
    "client.id": NAME,
    **dict.fromkeys(
        ("security.*", "sasl.*", "ssl.*", "ssl_*", "enable.sasl.*", "enable.ssl.*", "https.*"), PLAIN
    ),
    **dict.fromkeys(("*_cb", "*.cb", "opaque", "plugin.*", "interceptors", "partitioner_cb", "logger"), HOOK),
    **dict.fromkeys(("delivery.report.only.error", "enabled_events", "go.*", "key.serializer"), HOOK),
    "enable.auto.offset.store": "the client stores offsets itself, because the programs do not",
    **dict.fromkeys(("transactional.id", "transaction.timeout.ms"), TRANSACTIONS),
    "value.serializer": HOOK,
    "compression.codec": "it is another name for compression.type; use -X compression.type=VALUE",
    "max.in.flight": "it is another name; use -X max.in.flight.requests.per.connection=VALUE",
    "message.send.max.retries": "it is another name for retries; use -X retries=VALUE",
    "message.timeout.ms": "it is another name for delivery.timeout.ms; use -X delivery.timeout.ms=VALUE",
    "queue.buffering.max.ms": "it is another name for linger.ms; use -X linger.ms=VALUE",
    "request.required.acks": "it is another name for acks; use -X acks=VALUE",
}

#: Names in Python's style, of aiokafka and kafka-python.
PYTHON: Final[Mapping[str, str]] = {
    "bootstrap_servers": ADDRESS,
    "client_id": NAME,
    **dict.fromkeys(("security_*", "sasl_*", "ssl_*", "socks5_proxy"), PLAIN),
    **dict.fromkeys(("*_serializer", "partitioner", "loop", "metric_*", "kafka_client", "selector"), HOOK),
    "transactional_id": TRANSACTIONS,
    "transaction_timeout_ms": TRANSACTIONS,
    "enable_idempotence": "the guarantee sets it",
}

NODE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("brokers", "bootstrapBrokers"), ADDRESS),
    "clientId": NAME,
    **dict.fromkeys(("ssl", "ssl.*", "tls", "tls.*", "sasl", "sasl.*"), PLAIN),
    **dict.fromkeys(("logCreator", "socketFactory", "producer.createPartitioner", "partitioner"), HOOK),
    **dict.fromkeys(
        ("serializers", "serializers.*", "hooks", "*.registry", "send.messages", "send.topic"), HOOK
    ),
    **dict.fromkeys(
        ("producer.transactional*", "transactional*", "producer.transactionTimeout"), TRANSACTIONS
    ),
    **dict.fromkeys(("producer.idempotent", "idempotent"), "the guarantee sets it"),
}

JAVA: Final[Mapping[str, str]] = {
    "bootstrap.servers": ADDRESS,
    "client.id": NAME,
    **dict.fromkeys(("security.*", "sasl.*", "ssl.*"), PLAIN),
    **dict.fromkeys(("*.serializer", "interceptor.classes", "partitioner.class"), HOOK),
    **dict.fromkeys(("transactional.id", "transaction.*"), TRANSACTIONS),
}

#: Fields of the structs of sarama and kafka-go.
GO: Final[Mapping[str, str]] = {
    "ClientID": NAME,
    "*.ClientID": NAME,
    **dict.fromkeys(("Net.TLS*", "Net.SASL*", "Net.Proxy*", "*.TLS", "*.SASL"), PLAIN),
    **dict.fromkeys(("Producer.Return.*", "Version", "Producer.Retry.BackoffFunc", "Writer.Async"), HOOK),
    "Producer.Transaction.*": TRANSACTIONS,
    "Producer.Idempotent": "the guarantee sets it",
}


class AdapterSettings:
    """The settings of a client kind whose adapter is in the folder of its name."""

    name: str
    reserved: Mapping[str, str]

    def capabilities(self, version: str) -> Capabilities | None:
        """Return what is known of a version, or None if it was not tried."""
        seen = _read(ADAPTERS / self.name.replace("-", "_") / FILE).get(version)
        if seen is None:
            return None
        takes_own = CLIENT_CONFIG_FEATURE in seen["features"]
        told = seen.get("consumer")
        consumer = Capabilities(_applied(told), told["not_set"], takes_own) if told else None
        return Capabilities(_applied(seen), seen["not_set"], takes_own, tuple(seen["codecs"]), consumer)


def _applied(seen: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {java: tuple(own.split(", ")) for java, (own, _) in seen["applied"].items()}


@cache
def _read(path: Path) -> dict[str, Any]:
    """Return the versions in a file; none of a mutant, which has no file."""
    if not path.exists():
        return {}
    table: dict[str, Any] = json.loads(path.read_bytes())
    return table
