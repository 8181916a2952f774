"""ListGroups: the groups that a broker coordinates."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.apis.coordinators import group_coordinator
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request, with the filters for states and types."""
    body, reply = request.body, Reply(state, request)
    states = {each.lower() for each in getattr(body, "states_filter", ())}
    types = {each.lower() for each in getattr(body, "types_filter", ())}
    error = state.take_error(Api.LIST_GROUPS) if state.injected else None
    entry = maker(Api.LIST_GROUPS, request.version, "ListedGroup")
    found = []
    for group_id in state.groups.known():
        if group_coordinator(state, group_id) != request.node_id or group_id in state.settings.denied_groups:
            continue
        listed = state.groups.listed(request.node_id, group_id)
        if listed is not None:
            kind, group_state, protocol_type = listed
            if (not states or group_state.lower() in states) and (not types or kind.lower() in types):
                found.append(
                    entry(
                        group_id=group_id,
                        protocol_type=protocol_type,
                        group_state=group_state,
                        group_type=kind,
                    )
                )
    reply.send(error_code=error.code if error else ErrorCode.none, groups=() if error else tuple(found))
    return reply.answer()
