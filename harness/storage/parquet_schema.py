"""The tables of packed evidence: one table of columns, from which every schema is derived.

A table is ``column -> type``. The types are ``string``, ``long``, ``bool`` and ``longs`` (a list of long); a ``?``
after the type allows null. :mod:`harness.storage.parquet_writer` derives the Arrow schemas from it. Names contain their
units; times are ``CLOCK_MONOTONIC`` nanoseconds. ``trial`` is the key that joins all tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.model.errors import KafkaTrialError
from harness.plugins import registry
from harness.plugins.workload import Columns

#: A verdict's outcomes as columns (:class:`harness.model.rows.Availability`).
OUTCOMES: Columns = MappingProxyType(
    {
        "offered": "long",
        "acked": "long",
        "failed": "long",
        "unknown": "long",
        "longest_gap_ms": "long?",
        "first_ack_ms": "long?",
        "steady_ack_ms": "long?",
        "recovered": "bool?",
        "p50_ns": "long?",
        "p99_ns": "long?",
        "requests": "long?",
        "request_bytes": "long?",
    }
)

#: What a part of a frame repeats of it.
OF_FRAME: Columns = MappingProxyType(
    {
        "trial": "string",
        "frame": "long",
        "t_ns": "long",
        "broker": "long",
        "conn": "long",
        "correlation_id": "long?",
        "received_ns": "long?",
        "kind": "string",
    }
)

#: The tables of every trial.
TABLES: Mapping[str, Columns] = MappingProxyType(
    {
        "trials": {
            "schema_version": "long",
            "trial": "string",
            "run": "string",
            "client": "string",
            "client_name": "string",
            "client_version": "string",
            "reported_version": "string?",
            "library_version": "string?",
            "language": "string?",
            "broker": "string",
            "scenario": "string",
            "workload": "string",
            "guarantee": "string",
            "variant": "string",
            "seed": "long",
            "verdict": "string",
            "reason": "string",
            "ending": "string",
            "topic": "string",
            "lane": "long",
            "counted": "bool",
            "explains": "bool",
            "records": "long",
            "partitions": "long",
            "keys": "long",
            "producers": "long",
            "topics": "long",
            "codec": "string?",
            "acks": "string?",
            "idempotent": "bool?",
            "max_in_flight": "long?",
            "delivery_timeout_ms": "long?",
            "request_timeout_ms": "long?",
            "linger_ms": "long?",
            "load_api": "string",
            "load_ns": "long?",
            "heal_ns": "long?",
            "final_ns": "long?",
            "end_ns": "long?",
        },
        "counts": {"trial": "string", "name": "string", "value": "long"},
        "outcomes": {"trial": "string", **OUTCOMES},
        "requirements": {
            "trial": "string",
            "id": "string",
            "level": "string",
            "verdict": "string",
            "findings": "long",
            "first_message": "string?",
        },
        "findings": {
            "trial": "string",
            "requirement": "string",
            "anomaly": "string",
            "message": "string",
            "count": "long",
            "level": "string",
            "params_json": "string",
            "samples_json": "string",
        },
        "events": {"trial": "string", "seq": "long", "event": "string", "mono_ns": "long", "wall_ns": "long"},
        "log_records": {
            "trial": "string",
            "topic": "string",
            "partition": "long",
            "offset": "long",
            "base_offset": "long",
            "timestamp_ms": "long",
            "producer_id": "long",
            "producer_epoch": "long",
            "sequence": "long",
            "control": "bool",
            "crc_ok": "bool",
            "batch_crc": "long?",
            "compression": "string?",
            "headers": "long?",
            "key": "string?",
            "value_bytes": "long?",
            "intact": "bool",
            "identity_run": "string?",
            "identity_trial": "string?",
            "identity_producer": "string?",
            "identity_n": "long?",
        },
        "frames": {
            "trial": "string",
            "frame": "long",
            "t_ns": "long",
            "lane": "long",
            "broker": "long",
            "conn": "long",
            "kind": "string",
            "size_bytes": "long",
            "api_key": "long?",
            "api": "string?",
            "api_version": "long?",
            "correlation_id": "long?",
            "client_id": "string?",
            "error_codes": "longs",
            "closed_by": "string?",
            "note": "string?",
            "fault": "string?",
            "disposition": "string?",
            "received_ns": "long?",
            "throttle_ms": "long",
            "acks": "long?",
            "timeout_ms": "long?",
            "is_cut": "bool",
        },
        "blocked_requests": {"trial": "string", "t_ns": "long", "api": "string?", "size_bytes": "long"},
        "tcp": {
            "trial": "string",
            "t_ns": "long",
            "broker": "long",
            "client_port": "long",
            "what": "string",
            "by": "string",
            "conn": "long",
            "correlation_id": "long?",
            "size_bytes": "long?",
        },
        "member_parts": {
            **OF_FRAME,
            "group": "string?",
            "member_id": "string?",
            "epoch": "long?",
            "instance_id": "string?",
            "protocol": "string?",
            "protocols_json": "string",
            "leader": "string?",
            "session_timeout_ms": "long?",
            "rebalance_timeout_ms": "long?",
            "heartbeat_interval_ms": "long?",
            "error_code": "long?",
            "said_json": "string",
        },
        "coordinator_parts": {
            **OF_FRAME,
            "key": "string?",
            "key_type": "long?",
            "node": "long?",
            "error_code": "long?",
        },
        "fetch_parts": {
            **OF_FRAME,
            "session_id": "long?",
            "session_epoch": "long?",
            "max_bytes": "long?",
            "min_bytes": "long?",
            "max_wait_ms": "long?",
            "isolation": "long?",
            "error_code": "long?",
        },
        "offset_parts": {
            **OF_FRAME,
            "topic": "string",
            "partition": "long",
            "offset": "long?",
            "leader_epoch": "long?",
            "current_leader_epoch": "long?",
            "timestamp_ms": "long?",
            "high_watermark": "long?",
            "data_bytes": "long?",
            "error_code": "long?",
            "forgotten": "bool?",
            "damaged_begin": "long?",
            "damaged_end": "long?",
        },
        "produce_parts": {
            **OF_FRAME,
            "topic": "string",
            "partition": "long",
            "producer_id": "long?",
            "producer_epoch": "long?",
            "base_sequence": "long?",
            "records": "long?",
            "crc": "long?",
            "base_offset": "long?",
            "error_code": "long?",
            "compression": "string?",
            "first_timestamp_ms": "long?",
            "max_timestamp_ms": "long?",
        },
        "faults": {
            "trial": "string",
            "index": "long",
            "kind": "string",
            "start_json": "string",
            "params_json": "string",
            "duration_ms": "long",
            "requested_start_ns": "long?",
            "requested_end_ns": "long?",
            "effective_start_ns": "long?",
            "effective_end_ns": "long?",
            "hits": "long",
        },
    }
)


def all_tables() -> dict[str, Columns]:
    """Return the tables of every trial and those that workloads add.

    Raise KafkaTrialError if two have the same name.
    """
    tables = dict(TABLES)
    for name, kind in registry.table("workloads").items():
        if twice := tables.keys() & kind.tables.keys():
            raise KafkaTrialError(
                "table-named-twice",
                "the workload {workload!r} has a table {table!r}, but that name is taken",
                workload=name,
                table=min(twice),
            )
        tables |= {table: each.columns for table, each in kind.tables.items()}
    return tables
