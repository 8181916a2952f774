"""Heartbeat: a member of a classic group is alive, and learns that it has to join again."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.groups.classic_requests import heartbeat
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. While the coordinator loads the group, it believes every member."""
    body, groups, code = request.body, state.groups, ErrorCode.none
    try:
        groups.admit(request, body.group_id)
        group = groups.find(request.node_id, body.group_id)
        if group is None:
            raise RequestRefused(ErrorCode.unknown_member_id)
        member = group.validate_member(body.member_id, getattr(body, "group_instance_id", None))
        heartbeat(groups.rebalancing(request.node_id), group, member, body.generation_id)
    except RequestRefused as refused:
        is_loading = state.settings.coordinator_load_in_progress
        if not (is_loading and refused.code is ErrorCode.coordinator_load_in_progress):
            code = refused.code
    reply = Reply(state, request)
    reply.send(error_code=code)
    return reply.answer()
