"""SyncGroup: the leader brings the assignment, and every member gets its part."""

from __future__ import annotations

from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.groups.classic_members import ClassicMembers, find_member
from harness.brokers.scripted.groups.classic_requests import sync
from harness.brokers.scripted.groups.consumer_group import ConsumerGroup
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState

#: From this version on, a member has to name the protocol of its generation (KIP-559).
_PROTOCOL_FROM_VERSION: Final = 5


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. The response of a follower waits for the leader."""
    reply, body = Reply(state, request), request.body
    try:
        if request.version >= _PROTOCOL_FROM_VERSION and None in (body.protocol_type, body.protocol_name):
            raise RequestRefused(ErrorCode.inconsistent_group_protocol)
        state.groups.admit(request, body.group_id)
        _sync(state, request, reply)
    except RequestRefused as refused:
        reply.send(error_code=refused.code, protocol_type=None, protocol_name=None, assignment=b"")
    return reply.answer()


def _sync(state: ClusterState, request: Request, reply: Reply) -> None:
    body, groups = request.body, state.groups
    if (mixed := groups.find_mixed(request.node_id, body.group_id)) is not None:
        _sync_mixed(state, request, mixed, reply)
        return
    group = groups.find(request.node_id, body.group_id)
    if group is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    member = group.validate_member(body.member_id, getattr(body, "group_instance_id", None))
    if body.generation_id != group.generation_id:
        raise RequestRefused(ErrorCode.illegal_generation)
    for name, known in (("protocol_type", group.protocol_type), ("protocol_name", group.protocol_name)):
        said = getattr(body, name, None)
        if said is not None and known is not None and said != known:
            raise RequestRefused(ErrorCode.inconsistent_group_protocol)
    assignments = {each.member_id: bytes(each.assignment) for each in body.assignments}
    sync(groups.rebalancing(request.node_id), group, member, assignments, reply)


def _sync_mixed(state: ClusterState, request: Request, group: ConsumerGroup, reply: Reply) -> None:
    body = request.body
    named = getattr(body, "protocol_type", None), getattr(body, "protocol_name", None)
    member = find_member(group, body.member_id, getattr(body, "group_instance_id", None))
    assignment = ClassicMembers(state, request.node_id).sync(group, member, body.generation_id, named)
    reply.send(
        error_code=ErrorCode.none, protocol_type=named[0], protocol_name=named[1], assignment=assignment
    )
