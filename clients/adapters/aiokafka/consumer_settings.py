"""The Java consumer's settings translated for aiokafka, and those without an equivalent.

aiokafka separates two meanings of ``max.poll.interval.ms``: how long the application may take, and how long the
coordinator waits for it in a rebalance.
"""

from __future__ import annotations

#: Java name -> aiokafka's. A version may lack one.
NAMES = {
    "auto.commit.interval.ms": "auto_commit_interval_ms",
    "auto.offset.reset": "auto_offset_reset",
    "bootstrap.servers": "bootstrap_servers",
    "check.crcs": "check_crcs",
    "client.id": "client_id",
    "client.rack": "client_rack",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "enable.auto.commit": "enable_auto_commit",
    "fetch.max.bytes": "fetch_max_bytes",
    "fetch.max.wait.ms": "fetch_max_wait_ms",
    "fetch.min.bytes": "fetch_min_bytes",
    "group.id": "group_id",
    "group.instance.id": "group_instance_id",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "isolation.level": "isolation_level",
    "max.partition.fetch.bytes": "max_partition_fetch_bytes",
    "max.poll.interval.ms": "max_poll_interval_ms, rebalance_timeout_ms",
    "max.poll.records": "max_poll_records",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "partition.assignment.strategy": "partition_assignment_strategy",
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "session.timeout.ms": "session_timeout_ms",
}

#: Java name -> why it has no equivalent.
WHY_NOT = {
    "allow.auto.create.topics": "each request for metadata asks the broker to create missing topics",
    "client.rack": "it reads from leaders only",
    "default.api.timeout.ms": "a call repeats its requests without a limit in total",
    "group.instance.id": "there are no static members",
    "group.protocol": "there is only the classic protocol",
    "reconnect.backoff.max.ms": "the pause before the next connection does not grow",
    "reconnect.backoff.ms": "the pause before the next connection is retry_backoff_ms",
    "retry.backoff.max.ms": "the pause between attempts does not grow",
    "socket.connection.setup.timeout.ms": "a connection may take request_timeout_ms",
}
