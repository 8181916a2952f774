"""ConsumerGroupHeartbeat: the one request of a member of a group of KIP-848."""

from __future__ import annotations

from itertools import groupby
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.topics_asked import NO_ID
from harness.brokers.scripted.groups.consumer_requests import Beat, ConsumerGroups, Told, check
from harness.brokers.scripted.groups.server_assignors import Assignment
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. An error leaves every other field at its default."""
    reply, none = Reply(state, request), milliseconds(0)
    try:
        told = _told(state, request)
        interval_ms = state.settings.consumer_group_heartbeat_interval_ms
        reply.send(
            error_code=ErrorCode.none,
            member_id=told.member_id,
            member_epoch=told.epoch,
            heartbeat_interval=milliseconds(interval_ms) if told.epoch >= 0 else none,
            assignment=_assignment(request.version, told.assigned),
        )
    except RequestRefused as refused:
        reply.send(error_code=refused.code, member_id=None, member_epoch=0, heartbeat_interval=none)
    return reply.answer()


def _told(state: ClusterState, request: Request) -> Told:
    body, groups = request.body, state.groups
    beat = _beat(request)
    groups.authorize(request, body.group_id)
    if not body.group_id:
        raise RequestRefused(ErrorCode.invalid_request)
    check(beat)
    groups.check_coordinator(request.node_id, body.group_id)
    group = groups.find_consumer(request.node_id, body.group_id, create=beat.epoch == 0)
    moves = ConsumerGroups(state, request.node_id)
    return moves.leave(group, beat) if beat.epoch < 0 else moves.heartbeat(group, beat)


def _beat(request: Request) -> Beat:
    body = request.body
    owned = body.topic_partitions
    return Beat(
        version=request.version,
        member_id=body.member_id,
        epoch=body.member_epoch,
        instance_id=body.instance_id,
        rack=body.rack_id,
        client_id=request.header.client_id or "",
        rebalance_timeout_ms=body.rebalance_timeout // milliseconds(1),
        topics=None if body.subscribed_topic_names is None else frozenset(body.subscribed_topic_names),
        regex=getattr(body, "subscribed_topic_regex", None),
        assignor=body.server_assignor,
        owned=None
        if owned is None
        else frozenset((each.topic_id or NO_ID, int(index)) for each in owned for index in each.partitions),
    )


def _assignment(version: int, assigned: Assignment | None) -> Any:
    if assigned is None:
        return None
    entry = maker(Api.CONSUMER_GROUP_HEARTBEAT, version, "TopicPartitions")
    return maker(Api.CONSUMER_GROUP_HEARTBEAT, version, "Assignment")(
        topic_partitions=tuple(
            entry(topic_id=topic_id, partitions=indexes) for topic_id, indexes in by_topic(assigned)
        )
    )


def by_topic(assigned: Assignment) -> list[tuple[UUID, tuple[int, ...]]]:
    """Return the partitions of an assignment by topic."""
    return [
        (topic_id, tuple(index for _, index in each))
        for topic_id, each in groupby(sorted(assigned), key=lambda partition: partition[0])
    ]
