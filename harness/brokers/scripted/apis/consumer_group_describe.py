"""ConsumerGroupDescribe: the state, the epochs and the members of groups of KIP-848."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.apis.consumer_group_heartbeat import by_topic
from harness.brokers.scripted.groups.consumer_group import ConsumerGroup, ConsumerMember
from harness.brokers.scripted.groups.server_assignors import Assignment
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Each group has its own error."""
    reply, entry = (
        Reply(state, request),
        maker(Api.CONSUMER_GROUP_DESCRIBE, request.version, "DescribedGroup"),
    )
    found = []
    for group_id in request.body.group_ids:
        code, values = ErrorCode.none, {"group_state": "", "group_epoch": 0, "assignment_epoch": 0}
        values |= {"assignor_name": "", "members": ()}
        try:
            state.groups.admit(request, group_id, may_be_empty=True)
            group = state.groups.find_consumer(request.node_id, group_id, create=False)
            values = _described(state, request.version, group)
        except RequestRefused as refused:
            code = refused.code
        found.append(entry(error_code=code, group_id=group_id, **values))
    reply.send(groups=tuple(found))
    return reply.answer()


def _described(state: ClusterState, version: int, group: ConsumerGroup) -> dict[str, Any]:
    return {
        "group_state": group.state.value,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": tuple(_member(state, version, group, each) for each in group.members.values()),
    }


def _member(state: ClusterState, version: int, group: ConsumerGroup, member: ConsumerMember) -> Any:
    return maker(Api.CONSUMER_GROUP_DESCRIBE, version, "Member")(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host="/127.0.0.1",
        subscribed_topic_names=tuple(sorted(member.topics)),
        subscribed_topic_regex=member.regex or "",
        assignment=_assignment(state, version, member.assigned | member.revoking),
        target_assignment=_assignment(state, version, group.targets.get(member.member_id, frozenset())),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(state: ClusterState, version: int, assigned: Assignment) -> Any:
    entry = maker(Api.CONSUMER_GROUP_DESCRIBE, version, "TopicPartitions")
    return maker(Api.CONSUMER_GROUP_DESCRIBE, version, "Assignment")(
        topic_partitions=tuple(
            entry(topic_id=topic_id, topic_name=state.topics_by_id[topic_id].name, partitions=indexes)
            for topic_id, indexes in by_topic(assigned)
            if topic_id in state.topics_by_id
        )
    )
