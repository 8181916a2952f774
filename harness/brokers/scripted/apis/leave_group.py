"""LeaveGroup: one member, or from version 3 on several, leave a classic group."""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.groups.classic_requests import leave
from harness.brokers.scripted.groups.consumer_requests import ConsumerGroups
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_SEVERAL_FROM_VERSION: Final = 3


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Each member has its own error; before version 3 it is that of the response."""
    body, groups, version = request.body, state.groups, request.version
    if version < _SEVERAL_FROM_VERSION:
        members = [(str(body.member_id), None)]
    else:
        members = [(str(each.member_id), each.group_instance_id) for each in body.members]
    reply, codes, top = Reply(state, request), [], ErrorCode.none
    try:
        groups.admit(request, body.group_id)
        group = groups.find(request.node_id, body.group_id)
        if body.group_id in groups.consumer:
            consumers = groups.find_consumer(request.node_id, body.group_id, create=False)
            codes = ConsumerGroups(state, request.node_id).leave_classically(consumers, members)
        elif group is None:
            codes = [ErrorCode.unknown_member_id] * len(members)
        else:
            codes = leave(groups.rebalancing(request.node_id), group, members)
    except RequestRefused as refused:
        top = refused.code
    if version < _SEVERAL_FROM_VERSION:
        reply.send(error_code=codes[0] if codes else top)
    else:
        reply.send(error_code=top, members=tuple(_members(version, members, codes)))
    return reply.answer()


def _members(version: int, members: list[tuple[str, Any]], codes: list[ErrorCode]) -> list[Any]:
    entry = maker(Api.LEAVE_GROUP, version, "MemberResponse")
    return [
        entry(member_id=member_id, group_instance_id=instance_id, error_code=code)
        for (member_id, instance_id), code in zip(members, codes, strict=False)
    ]
