"""Fetch requests of every version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.fetch.fetch_session_handler import (
    BY_ID_LOWEST,
    FetchPartition,
    FetchRequestData,
)
from clients.reference.metadata.topic_metadata import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from harness.wire.apis import Api
from harness.wire.messages import maker, message_class, nested

LOWEST = 4  # record batch v2 and isolation levels (KIP-98)
BY_NAME_HIGHEST = 12  # from version 13 on, topics are identified by id (KIP-516)
_CONSUMER = -1
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """The settings of every request and of the reading of responses, by their Java names (FetchConfig)."""

    min_bytes: int = 1
    max_bytes: int = 52_428_800
    max_wait_ms: int = 500
    max_partition_bytes: int = 1_048_576
    max_poll_records: int = 500
    check_crcs: bool = True
    isolation_level: str = "read_uncommitted"
    client_rack: str = ""

    @classmethod
    def of(cls, config: ConsumerConfig) -> FetchSettings:
        """Return the settings of a consumer."""
        return cls(
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            max_wait_ms=config.fetch_max_wait_ms,
            max_partition_bytes=config.max_partition_fetch_bytes,
            max_poll_records=config.max_poll_records,
            check_crcs=config.check_crcs,
            isolation_level=config.isolation_level,
            client_rack=config.client_rack,
        )

    @property
    def read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        return self.isolation_level == "read_committed"


@cache
def _makers(version: int) -> tuple[Callable[..., Message], Callable[..., Any], Callable[..., Any]]:
    kind = message_class(Api.FETCH, version, "request")
    return maker(kind), maker(nested(kind, "FetchTopic")), maker(nested(kind, "FetchPartition"))


def fetch_request(data: FetchRequestData, settings: FetchSettings) -> Callable[[int], Message]:
    """Return a builder of Fetch requests. A version without sessions gets all partitions, as in a full request."""

    def build(version: int) -> Message:
        kind = message_class(Api.FETCH, version, "request")
        make_message, make_topic, make_partition = _makers(version)
        values: dict[str, Any] = {}
        if version >= 7:
            forgotten = data.to_forget + (data.to_replace if version >= BY_ID_LOWEST else ())
            values["forgotten_topics_data"] = _forgotten(nested(kind, "ForgottenTopic"), forgotten)
        if version >= 15:
            values["replica_state"] = nested(kind, "ReplicaState")()
        return make_message(
            replica_id=_CONSUMER,
            max_wait=timedelta(milliseconds=settings.max_wait_ms),
            min_bytes=settings.min_bytes,
            max_bytes=settings.max_bytes,
            isolation_level=ISOLATION_LEVELS[settings.isolation_level],
            session_id=data.metadata.session_id,
            session_epoch=data.metadata.epoch,
            topics=tuple(
                make_topic(
                    topic=topic,
                    topic_id=topic_id,
                    partitions=tuple(_asked(make_partition, index, each) for index, each in parts),
                )
                for (topic, topic_id), parts in _by_topic(data.to_send).items()
            ),
            rack_id=settings.client_rack,
            **values,
        )

    return build


def _asked(make_partition: Callable[..., Any], index: int, each: FetchPartition) -> Any:
    return make_partition(
        partition=index,
        current_leader_epoch=NO_EPOCH if each.leader_epoch is None else each.leader_epoch,
        fetch_offset=each.fetch_offset,
        last_fetched_epoch=NO_EPOCH,
        log_start_offset=-1,
        partition_max_bytes=each.max_bytes,
    )


def _by_topic(
    partitions: Mapping[TopicPartition, FetchPartition],
) -> dict[tuple[str, UUID | None], list[tuple[int, FetchPartition]]]:
    topics: dict[tuple[str, UUID | None], list[tuple[int, FetchPartition]]] = {}
    for (topic, index), each in partitions.items():
        topics.setdefault((topic, each.topic_id), []).append((index, each))
    return topics


def _forgotten(kind: Any, partitions: Iterable[tuple[TopicPartition, UUID | None]]) -> tuple[Any, ...]:
    topics: dict[tuple[str, UUID | None], list[int]] = {}
    for (topic, index), topic_id in partitions:
        topics.setdefault((topic, topic_id), []).append(index)
    make = maker(kind)
    return tuple(
        make(topic=topic, topic_id=topic_id or NO_TOPIC_ID, partitions=tuple(indexes))
        for (topic, topic_id), indexes in topics.items()
    )
