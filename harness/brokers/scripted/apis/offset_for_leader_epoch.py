"""OffsetForLeaderEpoch: where a leader epoch ends, by which a client sees that the log was truncated (KIP-320)."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.topics_asked import find_partition, find_topic
from harness.brokers.scripted.leader_epochs import UNDEFINED
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replica_access import check_replica
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.wire.apis import Api
from harness.wire.messages import encode_response


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Each partition has its own error."""
    body, version = request.body, request.version
    indexes = frozenset(int(part.partition) for topic in body.topics for part in topic.partitions)
    error = state.take_error(Api.OFFSET_FOR_LEADER_EPOCH, indexes) if state.injected else None
    named = maker(Api.OFFSET_FOR_LEADER_EPOCH, version, "OffsetForLeaderTopicResult")
    topics = tuple(
        named(
            topic=topic.topic,
            partitions=tuple(_end(state, request, topic.topic, part, error) for part in topic.partitions),
        )
        for topic in body.topics
    )
    message = maker(Api.OFFSET_FOR_LEADER_EPOCH, version, "OffsetForLeaderEpochResponse")(
        throttle_time=milliseconds(request.throttle_ms), topics=topics
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _end(state: ClusterState, request: Request, topic: str, part: Any, error: InjectedError | None) -> Any:
    end, code = UNDEFINED, ErrorCode.none
    try:
        if error is not None and error.partition in (None, part.partition):
            raise RequestRefused(error.code)
        partition = find_partition(find_topic(state, topic), part.partition)
        check_replica(partition, request.node_id, part.current_leader_epoch, only_leader=True)
        end = partition.log.epochs.end_of(part.leader_epoch, partition.log.log_end_offset)
    except RequestRefused as refused:
        code = refused.code
    return maker(Api.OFFSET_FOR_LEADER_EPOCH, request.version, "EpochEndOffset")(
        partition=part.partition, error_code=code, leader_epoch=end.epoch, end_offset=end.end_offset
    )
