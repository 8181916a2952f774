"""Metadata: the live brokers, and the leader and leader epoch of each partition of the requested topics.

Topics are requested by name before version 12, and by name or id from version 12 on. A request for all topics has an
empty list in version 0 and a null list in later versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.brokers.scripted.topics import INTERNAL_TOPICS, NO_LEADER, Partition, Topic, is_valid_name
from harness.wire.apis import Api
from harness.wire.messages import encode_response

_NO_ID: Final = UUID(int=0)
_IDS_FROM_VERSION: Final = 12
_TOP_LEVEL_ERROR_FROM_VERSION: Final = 13
_NO_CONTROLLER: Final = -1


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Errors belong to a topic (3, 17, 29, 100) or to a partition (5: it has no leader)."""
    version = request.version
    if version < _IDS_FROM_VERSION and _asks_by_id(request.body):
        return _refused(request)
    error = state.take_error(Api.METADATA) if state.injected else None
    topics = tuple(_topics(state, request, error))
    alive = state.alive()
    entry = maker(Api.METADATA, version, "MetadataResponseBroker")
    brokers = tuple(
        entry(node_id=node.node_id, host=node.address[0], port=node.address[1], rack=node.rack)
        for node in map(state.nodes.__getitem__, alive)
    )
    is_whole = error is not None and _is_top_level(error, version)
    message = maker(Api.METADATA, version, "MetadataResponse")(
        throttle_time=milliseconds(request.throttle_ms),
        brokers=() if is_whole else brokers,
        cluster_id=state.cluster_id,
        controller_id=min(alive, default=_NO_CONTROLLER),
        topics=() if is_whole else topics,
        error_code=error.code if is_whole and error is not None else ErrorCode.none,
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _asks_by_id(body: Any) -> bool:
    """Return whether topics are requested by id. Versions 10 and 11 have the field, but no broker accepts it."""
    return any(each.name is None or getattr(each, "topic_id", None) for each in body.topics or ())


def _refused(request: Request) -> Answer:
    """Answer INVALID_REQUEST for each requested topic, without any other content."""
    make = maker(Api.METADATA, request.version, "MetadataResponseTopic")
    topics = tuple(
        make(
            error_code=ErrorCode.invalid_request,
            name=each.name or "",
            topic_id=each.topic_id or _NO_ID,
            is_internal=False,
            partitions=(),
        )
        for each in request.body.topics
    )
    message = maker(Api.METADATA, request.version, "MetadataResponse")(
        throttle_time=milliseconds(request.throttle_ms),
        brokers=(),
        cluster_id=None,
        controller_id=_NO_CONTROLLER,
        topics=topics,
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _is_top_level(error: InjectedError, version: int) -> bool:
    return error.code == ErrorCode.rebootstrap_required and version >= _TOP_LEVEL_ERROR_FROM_VERSION


def _topics(state: ClusterState, request: Request, error: InjectedError | None) -> Iterator[Any]:
    make = maker(Api.METADATA, request.version, "MetadataResponseTopic")
    for name, topic_id, code in _asked(state, request):
        topic = state.topics.get(name) if name is not None and code is ErrorCode.none else None
        if error is not None and error.partition is None and not _is_top_level(error, request.version):
            topic, code = None, error.code
        yield make(
            error_code=code,
            name=name,
            topic_id=topic_id,
            is_internal=name in INTERNAL_TOPICS,
            partitions=() if topic is None else tuple(partition_rows(state, request, topic, error)),
        )


def _asked(state: ClusterState, request: Request) -> Iterator[tuple[str | None, UUID, ErrorCode]]:
    """Yield (name, id, error) of each topic in the response, without duplicates."""
    body, denied = request.body, state.settings.denied_topics
    if body.topics is None or (request.version == 0 and not body.topics):
        for topic in state.topics.values():
            if topic.name not in denied:
                yield topic.name, topic.topic_id, ErrorCode.none
        return
    ids = list(dict.fromkeys(i for each in body.topics if (i := getattr(each, "topic_id", None))))
    for topic_id in ids:
        found = state.topics_by_id.get(topic_id)
        if found is None:
            yield None, topic_id, ErrorCode.unknown_topic_id
        elif found.name in denied:
            yield None, topic_id, ErrorCode.topic_authorization_failed
        else:
            yield found.name, topic_id, ErrorCode.none
    if not ids:
        for name in dict.fromkeys(str(each.name) for each in body.topics if each.name is not None):
            yield _by_name(state, body, name)


def _by_name(state: ClusterState, body: Any, name: str) -> tuple[str, UUID, ErrorCode]:
    if name in state.settings.denied_topics:
        return name, _NO_ID, ErrorCode.topic_authorization_failed
    topic = state.topics.get(name)
    if topic is not None:
        return name, topic.topic_id, ErrorCode.none
    if not is_valid_name(name):
        return name, _NO_ID, ErrorCode.invalid_topic_exception
    settings = state.settings
    if settings.auto_create_topics_enable and getattr(body, "allow_auto_topic_creation", True):
        # The topic exists a moment later, and the error makes the client ask again.
        state.add_topic(name, settings.num_partitions, {}, min(3, len(state.nodes)))
    return name, _NO_ID, ErrorCode.unknown_topic_or_partition


def partition_rows(
    state: ClusterState, request: Request, topic: Topic, error: InjectedError | None
) -> Iterator[Any]:
    """Return the topic's partitions as a response of the request's version has them."""
    make = maker(Api.METADATA, request.version, "MetadataResponsePartition")
    alive = frozenset(state.alive())
    for partition in topic.partitions:
        code = _partition_error(partition, alive, request.version)
        if error is not None and error.partition == partition.index:
            code = error.code
        shown = alive if request.version == 0 else frozenset(partition.replicas)
        yield make(
            error_code=code,
            partition_index=partition.index,
            leader_id=partition.leader if partition.leader in alive else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=tuple(node for node in partition.replicas if node in shown),
            isr_nodes=tuple(node for node in partition.isr if node in shown),
            offline_replicas=tuple(node for node in partition.replicas if node not in alive),
        )


def _partition_error(partition: Partition, alive: frozenset[int], version: int) -> ErrorCode:
    if partition.leader not in alive:
        return ErrorCode.leader_not_available
    if version == 0 and not alive.issuperset(partition.replicas):
        return ErrorCode.replica_not_available
    return ErrorCode.none
