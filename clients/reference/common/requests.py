"""The client's requests as values, and how each becomes a message of the negotiated version.

A :class:`ClientRequest` is created before its version is known. ``build(version)`` makes the message.
:func:`message_of` omits fields that a version does not have, so each builder is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import msgspec

from clients.reference.ports import INT32_MAX
from harness.wire.apis import Api
from harness.wire.messages import make, maker, message_class, nested

Message = Any
"""A request or response of kio: a frozen dataclass of one API, kind and version."""


class ClientResponse(msgspec.Struct, frozen=True):
    """The result of a request: exactly one of a ``body``, a lost connection, or no version in common.

    ``body`` is also None for a request that expects no response.
    """

    body: Message | None
    disconnected: bool = False
    timed_out: bool = False
    version_mismatch: str | None = None


class ClientRequest(msgspec.Struct, frozen=True):
    """A request before its version is chosen. ``lowest`` and ``highest`` narrow kio's range.

    ``is_internal`` marks the network layer's own requests: they complete even if other requests are dropped
    (NET-INF-07).
    """

    node_id: int
    api: Api
    build: Callable[[int], Message]
    on_complete: Callable[[ClientResponse, int], None]
    timeout_ms: int
    expects_response: bool = True
    lowest: int | None = None
    highest: int | None = None
    is_internal: bool = False


def message_of(api: Api, version: int, **values: Any) -> Message:
    """Return the request message of a version. Those of ``values`` that it has no field for are omitted."""
    return make(message_class(api, version, "request"), **values)


def api_versions_request(version: int) -> Message:
    """Return an ApiVersions request. It names the client's software if the version has the fields (KIP-511)."""
    return message_of(
        Api.API_VERSIONS, version, client_software_name="kafka-trial", client_software_version="0.1.0"
    )


def api_versions_question(
    node_id: int, answered: Callable[[ClientResponse, int], None], timeout_ms: int
) -> ClientRequest:
    """Return the first request of a connection."""
    return ClientRequest(
        node_id, Api.API_VERSIONS, api_versions_request, answered, timeout_ms=timeout_ms, is_internal=True
    )


METADATA_LOWEST = 4  # the first version with allow_auto_topic_creation (KIP-361)


@cache
def _metadata_makers(version: int) -> tuple[Callable[..., Message], Callable[..., Any]]:
    message_type = message_class(Api.METADATA, version, "request")
    return maker(message_type), maker(nested(message_type, "MetadataRequestTopic"))


def metadata_request(
    topics: Sequence[str] | None, *, allow_auto_topic_creation: bool
) -> Callable[[int], Message]:
    """Return a builder of Metadata requests. None asks for every topic, an empty sequence for the brokers only."""

    def build(version: int) -> Message:
        make_message, make_topic = _metadata_makers(version)
        return make_message(
            topics=None
            if topics is None
            else tuple(make_topic(name=topic, topic_id=None) for topic in topics),
            allow_auto_topic_creation=allow_auto_topic_creation,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )

    return build


INIT_PRODUCER_ID_HIGHEST = 5  # 6 belongs to two-phase commit (KIP-939)


def init_producer_id_request(version: int) -> Message:
    """Request an id for a producer without transactions: no transactional id, the maximum timeout (PRD-IDM-01)."""
    return message_of(
        Api.INIT_PRODUCER_ID,
        version,
        transactional_id=None,
        transaction_timeout=timedelta(milliseconds=INT32_MAX),
        producer_id=-1,
        producer_epoch=-1,
    )


PRODUCE_LOWEST = 3  # record batch v2
PRODUCE_BY_NAME_HIGHEST = 12  # from version 13 on, topics are identified by id (KIP-516)


class PartitionData(msgspec.Struct, frozen=True):
    """One batch of a Produce request, which has at most one batch per partition (PRD-ACC-05)."""

    topic: str
    topic_id: UUID | None
    partition: int
    records: bytes


@cache
def _produce_makers(version: int) -> tuple[Callable[..., Message], Callable[..., Any], Callable[..., Any]]:
    message_type = message_class(Api.PRODUCE, version, "request")
    topic_type = nested(message_type, "TopicProduceData")
    return maker(message_type), maker(topic_type), maker(nested(message_type, "PartitionProduceData"))


def produce_request(
    data: Sequence[PartitionData], *, acks: int, timeout_ms: int, transactional_id: str | None = None
) -> Callable[[int], Message]:
    """Return a builder of Produce requests with these batches, grouped by topic."""
    topics: dict[str, list[PartitionData]] = {}
    for item in data:
        topics.setdefault(item.topic, []).append(item)
    timeout = timedelta(milliseconds=timeout_ms)

    def build(version: int) -> Message:
        make_message, make_topic, make_partition = _produce_makers(version)
        return make_message(
            transactional_id=transactional_id,
            acks=acks,
            timeout=timeout,
            topic_data=tuple(
                make_topic(
                    name=topic,
                    topic_id=items[0].topic_id,
                    partition_data=tuple(
                        make_partition(index=item.partition, records=item.records) for item in items
                    ),
                )
                for topic, items in topics.items()
            ),
        )

    return build


class PartitionResponse(msgspec.Struct, frozen=True):
    """A partition's part of a Produce response. ``log_append_time_ms`` is -1 if the topic uses CreateTime.

    ``leader_id`` and ``leader_epoch`` are -1 if the broker did not name another leader (KIP-951).
    """

    topic: str
    partition: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    record_errors: tuple[tuple[int, str | None], ...] = ()
    leader_id: int = -1
    leader_epoch: int = -1


def partition_responses(body: Message, topic_names: dict[UUID, str]) -> list[PartitionResponse]:
    """Return every partition of a Produce response of any version. ``topic_names`` maps topic ids to names."""
    answers = []
    for topic in body.responses:
        named = hasattr(topic, "name")
        name = topic.name if named else topic_names.get(topic.topic_id) or str(topic.topic_id)
        for partition in topic.partition_responses:
            appended = getattr(partition, "log_append_time", None)
            leader = getattr(partition, "current_leader", None)
            answers.append(
                PartitionResponse(
                    topic=name,
                    partition=partition.index,
                    error_code=int(partition.error_code),
                    base_offset=partition.base_offset,
                    log_append_time_ms=_milliseconds(appended),
                    log_start_offset=getattr(partition, "log_start_offset", -1),
                    error_message=getattr(partition, "error_message", None),
                    record_errors=tuple(
                        (item.batch_index, item.batch_index_error_message)
                        for item in getattr(partition, "record_errors", ())
                    ),
                    leader_id=leader.leader_id if leader else -1,
                    leader_epoch=leader.leader_epoch if leader else -1,
                )
            )
    return answers


_EPOCH, _MILLISECOND = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)


def _milliseconds(moment: datetime | None) -> int:
    return -1 if moment is None else (moment - _EPOCH) // _MILLISECOND
