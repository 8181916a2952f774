"""Heartbeat: a member of a classic group is alive, and learns that it has to join again."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.groups.classic_members import ClassicMembers, find_member
from harness.brokers.scripted.groups.classic_requests import heartbeat
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. While the coordinator loads the group, it believes every member."""
    code = ErrorCode.none
    try:
        state.groups.admit(request, request.body.group_id)
        _heartbeat(state, request)
    except RequestRefused as refused:
        is_loading = state.settings.coordinator_load_in_progress
        if not (is_loading and refused.code is ErrorCode.coordinator_load_in_progress):
            code = refused.code
    reply = Reply(state, request)
    reply.send(error_code=code)
    return reply.answer()


def _heartbeat(state: ClusterState, request: Request) -> None:
    body, groups = request.body, state.groups
    instance_id = getattr(body, "group_instance_id", None)
    if (mixed := groups.find_mixed(request.node_id, body.group_id)) is not None:
        beating = find_member(mixed, body.member_id, instance_id)
        ClassicMembers(state, request.node_id).heartbeat(mixed, beating, body.generation_id)
        return
    group = groups.find(request.node_id, body.group_id)
    if group is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    member = group.validate_member(body.member_id, instance_id)
    heartbeat(groups.rebalancing(request.node_id), group, member, body.generation_id)
