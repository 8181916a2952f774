"""Fetch responses of every version, as values."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec

from clients.reference.common.requests import Message
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.ports import Node
from harness.wire.error_table import KafkaError, error_for
from harness.wire.primitives import Data

NOT_TOLD = -1


class FetchedPartition(msgspec.Struct, frozen=True):
    """A partition's part of a response. A number is -1 if the broker did not report it.

    ``aborted`` are (producer id, first offset) pairs of aborted transactions, in no particular order. ``leader_id`` and
    ``leader_epoch`` name another leader (KIP-951), ``preferred_read_replica`` a nearer replica (KIP-392).
    ``records`` may be a view of the whole response, which then lives as long.
    """

    error_code: int = 0
    high_watermark: int = NOT_TOLD
    last_stable_offset: int = NOT_TOLD
    log_start_offset: int = NOT_TOLD
    aborted: tuple[tuple[int, int], ...] = ()
    preferred_read_replica: int = NOT_TOLD
    records: Data = b""
    leader_id: int = NOT_TOLD
    leader_epoch: int = NOT_TOLD

    @property
    def error(self) -> KafkaError:
        """The entry of the error table."""
        return error_for(self.error_code)


class FetchAnswer(msgspec.Struct, frozen=True):
    """A response. ``partitions`` lacks those whose topic id is not in the session; ``topic_ids`` has all ids."""

    version: int
    error: KafkaError
    session_id: int
    throttle_ms: int
    partitions: Mapping[TopicPartition, FetchedPartition]
    topic_ids: frozenset[UUID]
    nodes: tuple[Node, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all records in it, compressed."""
        return sum(len(each.records) for each in self.partitions.values())


def fetch_answer(body: Message, topic_names: Mapping[UUID, str]) -> FetchAnswer:
    """Return a response of any version as a value. ``topic_names`` are those of the session's topic ids."""
    partitions: dict[TopicPartition, FetchedPartition] = {}
    ids: set[UUID] = set()
    for topic in body.responses:
        name = getattr(topic, "topic", None)
        if name is None:
            ids.add(topic.topic_id)
            name = topic_names.get(topic.topic_id)
        if name is not None:
            for part in topic.partitions:
                partitions[name, int(part.partition_index)] = _partition(part)
    return FetchAnswer(
        version=body.__version__,
        error=error_for(int(getattr(body, "error_code", 0))),
        session_id=getattr(body, "session_id", 0),
        throttle_ms=round(body.throttle_time.total_seconds() * 1000),
        partitions=partitions,
        topic_ids=frozenset(ids),
        nodes=tuple(
            Node(int(each.node_id), each.host, int(each.port)) for each in getattr(body, "node_endpoints", ())
        ),
    )


def _partition(part: Message) -> FetchedPartition:
    leader = getattr(part, "current_leader", None)
    return FetchedPartition(
        error_code=int(part.error_code),
        high_watermark=part.high_watermark,
        last_stable_offset=part.last_stable_offset,
        log_start_offset=getattr(part, "log_start_offset", NOT_TOLD),
        aborted=tuple(
            (int(each.producer_id), int(each.first_offset)) for each in part.aborted_transactions or ()
        ),
        preferred_read_replica=int(getattr(part, "preferred_read_replica", NOT_TOLD)),
        records=part.records or b"",
        leader_id=int(leader.leader_id) if leader else NOT_TOLD,
        leader_epoch=int(leader.leader_epoch) if leader else NOT_TOLD,
    )
