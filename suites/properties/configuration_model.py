"""A model of how a Java producer of a given release interprets its settings.

The configuration properties compare the client with it. It is written from ProducerConfig of Kafka 4.1.1 and the KIPs
that changed it, as tables of ranges and functions of the given settings. Nothing in it comes from the reference client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]
Release = tuple[int, int]

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
IN_FLIGHT = "max.in.flight.requests.per.connection"

#: Releases on either side of every change that the properties cover.
RELEASES: tuple[Release, ...] = (
    *((2, 8), (3, 0), (3, 2), (3, 3), (3, 7), (3, 9)),
    *((4, 0), (4, 1), (4, 2), (4, 3)),
)

#: Whole numbers: lowest, highest, from the validators in ProducerConfig and CompressionType.
RANGES: Mapping[str, tuple[int, int]] = {
    "batch.size": (0, INT_MAX),
    "buffer.memory": (0, LONG_MAX),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131_072, 22),
    "delivery.timeout.ms": (0, INT_MAX),
    "linger.ms": (0, LONG_MAX),
    "max.block.ms": (0, LONG_MAX),
    IN_FLIGHT: (1, INT_MAX),
    "max.request.size": (0, INT_MAX),
    "metadata.max.age.ms": (0, LONG_MAX),
    "metadata.max.idle.ms": (5_000, LONG_MAX),
    "metadata.recovery.rebootstrap.trigger.ms": (0, LONG_MAX),
    "metrics.num.samples": (1, INT_MAX),
    "partitioner.availability.timeout.ms": (0, LONG_MAX),
    "receive.buffer.bytes": (-1, INT_MAX),
    "reconnect.backoff.max.ms": (0, LONG_MAX),
    "reconnect.backoff.ms": (0, LONG_MAX),
    "request.timeout.ms": (0, INT_MAX),
    "retries": (0, INT_MAX),
    "retry.backoff.max.ms": (0, LONG_MAX),
    "retry.backoff.ms": (0, LONG_MAX),
    "send.buffer.bytes": (-1, INT_MAX),
}

FLAGS = ("enable.idempotence", "partitioner.adaptive.partitioning.enable", "partitioner.ignore.keys")

#: Listed values, as they are written.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "acks": ("all", "-1", "0", "1"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
}


def text_of(release: Release) -> str:
    """Return ``(4, 1)`` as ``4.1``."""
    return f"{release[0]}.{release[1]}"


#: The defaults of ProducerConfig and CommonClientConfigs that are the same in every release, by attribute.
CONSTANT_DEFAULTS: Mapping[str, Any] = {
    "batch_size": 16_384,
    "buffer_memory": 33_554_432,
    "client_dns_lookup": "use_all_dns_ips",
    "compression_gzip_level": -1,
    "compression_lz4_level": 9,
    "compression_zstd_level": 3,
    "connections_max_idle_ms": 540_000,
    "delivery_timeout_ms": 120_000,
    "interceptor_classes": (),
    "max_block_ms": 60_000,
    "max_in_flight_requests_per_connection": 5,
    "max_request_size": 1_048_576,
    "metadata_max_age_ms": 300_000,
    "metadata_max_idle_ms": 300_000,
    "metadata_recovery_rebootstrap_trigger_ms": 300_000,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "partitioner_availability_timeout_ms": 0,
    "partitioner_class": None,
    "partitioner_ignore_keys": False,
    "receive_buffer_bytes": 32_768,
    "reconnect_backoff_max_ms": 1_000,
    "reconnect_backoff_ms": 50,
    "request_timeout_ms": 30_000,
    "retries": INT_MAX,
    "retry_backoff_ms": 100,
    "security_protocol": "PLAINTEXT",
    "send_buffer_bytes": 131_072,
    "socket_connection_setup_timeout_max_ms": 30_000,
    "socket_connection_setup_timeout_ms": 10_000,
    "transaction_timeout_ms": 60_000,
    "transactional_id": None,
}


def defaults(release: Release) -> dict[str, Any]:
    """Return the defaults of a release, by attribute of the configuration."""
    return {
        **CONSTANT_DEFAULTS,
        "acks": -1 if release >= (3, 0) else 1,
        "enable_idempotence": release >= (3, 0),
        "linger_ms": 5 if release >= (4, 0) else 0,
        "metadata_recovery_strategy": "rebootstrap" if release >= (4, 0) else "none",
        "partitioner_adaptive_partitioning_enable": release >= (3, 3),
        "retry_backoff_max_ms": 1_000 if release >= (3, 7) else 100,
    }


def idempotence(given: Settings, release: Release) -> bool | None:
    """Return True if the producer is idempotent, or None if these settings are refused."""
    explicit = given.get("enable.idempotence")
    if explicit is False or (explicit is None and release < (3, 0)):
        return False
    gives_way = given.get("acks", "all") not in ("all", "-1") or given.get("retries", INT_MAX) == 0
    too_many = given.get(IN_FLIGHT, 5) > 5
    if explicit:
        return None if gives_way or too_many else True
    if too_many and release >= (4, 0):
        return None
    return not (gives_way or too_many)


def acks(given: Settings, is_idempotent: bool, release: Release) -> int:
    """Return ``acks`` as on the wire."""
    written = given.get("acks", "all" if is_idempotent or release >= (3, 0) else "1")
    return -1 if written == "all" else int(written)


def delivery_timeout_ms(given: Settings, release: Release) -> int | None:
    """Return the delivery timeout that applies, or None if these settings are refused."""
    linger_ms: int = given.get("linger.ms", defaults(release)["linger_ms"])
    request_timeout_ms: int = given.get("request.timeout.ms", 30_000)
    least = min(linger_ms + request_timeout_ms, INT_MAX)
    if "delivery.timeout.ms" not in given:
        return max(least, 120_000)
    explicit: int = given["delivery.timeout.ms"]
    return explicit if explicit >= least else None


def number(name: str, value: Any) -> int | None:
    """Return the whole number that ``value`` stands for, or None if ``name`` refuses it."""
    low, high = RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str) and not value.strip().lstrip("-").isdecimal():
        return None
    return int(value) if low <= int(value) <= high else None
