"""DescribeGroups: the state and the members of classic groups."""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.groups.classic_group import ClassicState
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_NOT_FOUND_FROM_VERSION: Final = 6


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. A group that does not exist is dead; from version 6 on that is an error."""
    reply, entry = Reply(state, request), maker(Api.DESCRIBE_GROUPS, request.version, "DescribedGroup")
    reply.send(
        groups=tuple(entry(**_described(state, request, group_id)) for group_id in request.body.groups)
    )
    return reply.answer()


def _described(state: ClusterState, request: Request, group_id: str) -> dict[str, Any]:
    empty = {"group_id": group_id, "protocol_type": "", "protocol_data": "", "members": ()}
    try:
        state.groups.admit(request, group_id, may_be_empty=True)
    except RequestRefused as refused:
        return empty | {"error_code": refused.code, "error_message": None, "group_state": ""}
    group = state.groups.find(request.node_id, group_id)
    if group is None:
        is_error = request.version >= _NOT_FOUND_FROM_VERSION
        return empty | {
            "error_code": ErrorCode.group_id_not_found if is_error else ErrorCode.none,
            "error_message": f"Group {group_id} not found." if is_error else None,
            "group_state": ClassicState.DEAD.value,
        }
    entry = maker(Api.DESCRIBE_GROUPS, request.version, "DescribedGroupMember")
    is_stable = group.is_in(ClassicState.STABLE)
    has_assignments = is_stable or state.release.keeps_assignments
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "group_id": group_id,
        "group_state": group.state.value,
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol_name or "") if is_stable else "",
        "members": tuple(
            entry(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                client_id=each.client_id,
                client_host="/127.0.0.1",
                member_metadata=each.metadata(group.protocol_name) if is_stable else b"",
                member_assignment=each.assignment if has_assignments else b"",
            )
            for each in group.members.values()
        ),
    }
