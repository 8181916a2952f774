"""JoinGroup: a member joins a classic group. The response waits for the other members."""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.groups.classic_group import refused_join
from harness.brokers.scripted.groups.classic_members import ClassicMembers
from harness.brokers.scripted.groups.classic_requests import Joining, join
from harness.brokers.scripted.groups.coordinator import protocols_of
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_NULLABLE_NAME_FROM_VERSION: Final = 7
#: Errors of the coordinator's runtime, which does not know the members.
_WITHOUT_MEMBER_ID: Final = frozenset(
    {ErrorCode.unknown_server_error, ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress}
)


class _JoinReply(Reply):
    """Makes the response from plain values."""

    def __init__(self, state: ClusterState, request: Request) -> None:
        super().__init__(state, request)
        self._version = request.version

    def send(self, **values: Any) -> None:
        entry = maker(Api.JOIN_GROUP, self._version, "JoinGroupResponseMember")
        values["members"] = tuple(
            entry(member_id=member_id, group_instance_id=instance_id, metadata=metadata)
            for member_id, instance_id, metadata in values["members"]
        )
        if values["protocol_name"] is None and self._version < _NULLABLE_NAME_FROM_VERSION:
            values["protocol_name"] = ""
        super().send(**values)


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request."""
    body, reply = request.body, _JoinReply(state, request)
    try:
        session_timeout_ms = body.session_timeout // milliseconds(1)
        state.groups.authorize(request, body.group_id)
        if not body.group_id:
            raise RequestRefused(ErrorCode.invalid_group_id)
        settings = state.settings
        if (
            not settings.group_min_session_timeout_ms
            <= session_timeout_ms
            <= settings.group_max_session_timeout_ms
        ):
            raise RequestRefused(ErrorCode.invalid_session_timeout)
        state.groups.check_coordinator(request.node_id, body.group_id)
        _join(state, request, session_timeout_ms, reply)
    except RequestRefused as refused:
        reply.send(**refused_join(refused.code, "" if refused.code in _WITHOUT_MEMBER_ID else body.member_id))
    return reply.answer()


def _join(state: ClusterState, request: Request, session_timeout_ms: int, reply: Reply) -> None:
    body, groups = request.body, state.groups
    client_id, instance_id = request.header.client_id or "", getattr(body, "group_instance_id", None)
    asked = Joining(
        version=request.version,
        member_id=body.member_id,
        instance_id=instance_id,
        client_id=client_id,
        new_member_id=f"{instance_id or client_id}-{state.new_uuid()}",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=body.rebalance_timeout // milliseconds(1)
        if hasattr(body, "rebalance_timeout")
        else session_timeout_ms,
        protocol_type=body.protocol_type,
        protocols=protocols_of(body.protocols),
    )
    if (mixed := groups.find_mixed(request.node_id, body.group_id)) is not None:
        ClassicMembers(state, request.node_id).join(mixed, asked, reply)
        return
    group = groups.find(request.node_id, body.group_id)
    if group is None:
        if body.member_id:
            raise RequestRefused(ErrorCode.unknown_member_id)
        group = groups.create(request.node_id, body.group_id)
    join(groups.rebalancing(request.node_id), group, asked, state.settings.group_max_size, reply)
