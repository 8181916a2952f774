"""Normalise results into plain values that can be compared. Values that must differ are replaced by names.

Producer ids and topic ids become the plan's own labels. Left out are throttle times, message texts, the cluster id and
the controller (a KRaft broker names any live node).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, Final
from uuid import UUID

from harness.wire.records import NO_PRODUCER_ID, RecordBatch, read_batches

Plain = Any
_LEFT_OUT: Final = frozenset(
    {
        "throttle_time",
        "error_message",
        "batch_index_error_message",
        "cluster_id",
        "controller_id",
        "authorized_operations",
        "topic_authorized_operations",
        "cluster_authorized_operations",
    }
)
#: Lists whose order has no meaning, and the field that identifies their elements.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "brokers": ("node_id",),
    "topics": ("name", "topic", "topic_id"),
    "partitions": ("partition_index", "partition"),
    "api_keys": ("api_key",),
    "node_endpoints": ("node_id",),
    "responses": ("name", "topic", "topic_id"),
    "partition_responses": ("index",),
    "members": ("member_id",),
    "topic_partitions": ("topic_id",),
    "results_by_topic_v3_and_below": ("name",),
    "topic_results": ("name",),
    "results_by_partition": ("partition_index",),
}
_SETS: Final = frozenset({"replica_nodes", "isr_nodes", "offline_replicas", "subscribed_topic_names"})
#: A member id that the plan's members were not told, because their request was not answered.
_MEMBER_ID: Final = re.compile(r"(.*)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Labels:
    """The plan's labels for a side's ids. A topic that was created again is ``label#2``."""

    def __init__(self, topics: Mapping[str, str]) -> None:
        self.names = dict(topics)
        self.producers: dict[int, str] = {NO_PRODUCER_ID: "none"}
        self.topic_ids: dict[UUID, str] = {UUID(int=0): "none"}

    def producer(self, producer_id: int) -> str:
        """Return the label of a producer id. An unknown id gets a new label."""
        return self.producers.setdefault(producer_id, f"producer {len(self.producers)}")

    def topic_id(self, topic_id: UUID | None) -> str:
        """Return the label of a topic's id."""
        return "none" if topic_id is None else self.topic_ids.get(topic_id, f"id {topic_id}")


def plain(value: Any, labels: Labels, name: str = "") -> Plain:
    """Return a message as dicts and plain values."""
    if name == "producer_id":
        return labels.producer(int(value))
    if name == "log_append_time":
        return "set" if value is not None else "none"
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {key: plain(each, labels, key) for key, each in pairs if key not in _LEFT_OUT}
    match value:
        case tuple() if name in _SETS:
            return sorted(plain(each, labels) for each in value)
        case tuple():
            return _listed(value, labels, name)
        case IntEnum():
            return value.name
        case UUID() | None if name == "topic_id":
            return labels.topic_id(value)
        case datetime() | timedelta() | UUID():
            return str(value)
        case str() if value in labels.names:
            return labels.names[value]
        case str() if (found := _MEMBER_ID.fullmatch(value)) is not None:
            return f"{found[1]} without an answer"
        case _:
            return value


def _listed(values: tuple[Any, ...], labels: Labels, name: str) -> Plain:
    made = [plain(each, labels) for each in values]
    keys = _KEYS.get(name)
    if keys is None:
        return made
    if not all(isinstance(each, dict) for each in made):
        return sorted(made)
    known: dict[str, Plain] = {}
    for each in made:
        label = next((str(each[key]) for key in keys if each.get(key) not in (None, "")), "")
        while label in known:
            label += " again"
        known[label] = each
    return known


def plain_records(data: bytes, labels: Labels, base_ms: int) -> Plain:
    """Return the records of a Fetch: its whole batches, and the size of a last one that is cut off."""
    batches = list(read_batches(data))
    whole_bytes = sum(batch.header.size_bytes for batch in batches)
    return {
        "batches": [_plain_batch(batch, labels, base_ms) for batch in batches],
        "cut_off_bytes": len(data) - whole_bytes,
    }


def plain_log(start_offset: int, data: bytes, labels: Labels, base_ms: int) -> Plain:
    """Return a partition's log, batch by batch. Only the presence of the brokers' own timestamps is recorded."""
    batches = [_plain_batch(batch, labels, base_ms) for batch in read_batches(data)]
    return {"log_start_offset": start_offset, "batches": batches}


def _plain_batch(batch: RecordBatch, labels: Labels, base_ms: int) -> Plain:
    header = batch.header
    is_ours = header.timestamp_type == "CreateTime" and not header.is_control
    times = [record.timestamp_ms - base_ms if record.timestamp_ms >= 0 else -1 for record in batch.records]
    max_ms = header.max_timestamp_ms
    return {
        "base_offset": header.base_offset,
        "leader_epoch": header.partition_leader_epoch,
        "attributes": header.attributes,
        "last_offset_delta": header.last_offset_delta,
        "max_timestamp": (max_ms - base_ms if max_ms >= 0 else -1) if is_ours else "broker's",
        "producer_id": labels.producer(header.producer_id),
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "count": header.record_count,
        "crc_ok": batch.crc_ok,
        "length": header.length,
        "timestamps": times if is_ours else "broker's",
        "records": [(r.offset, r.key, r.value, r.headers) for r in batch.records],
    }
