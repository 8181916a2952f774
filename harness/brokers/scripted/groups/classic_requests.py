"""What members of a classic group ask: to join, to get their assignment, to stay, to leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.groups.classic_group import (
    ClassicGroup,
    ClassicMember,
    ClassicState,
    Protocols,
    answer_join,
    refused_join,
)
from harness.brokers.scripted.groups.rebalancing import Rebalancing, joined, synced
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply

#: KIP-394: a new dynamic member gets its id first, and joins with it.
KNOWN_ID_FROM_VERSION: Final = 4
#: KIP-814: a static leader that returns does not assign again.
_SKIP_FROM_VERSION: Final = 9


@dataclass(frozen=True, slots=True)
class Joining:
    """A JoinGroup request. ``new_member_id`` is the id for a new member."""

    version: int
    member_id: str
    instance_id: str | None
    client_id: str
    new_member_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols


def join(rebalancing: Rebalancing, group: ClassicGroup, asked: Joining, max_size: int, reply: Reply) -> None:
    """Handle a JoinGroup. The reply is sent now, or when the rebalance has ended."""
    if not _has_room(group, asked.member_id, max_size):
        group.remove(asked.member_id)
        reply.send(**refused_join(ErrorCode.group_max_size_reached, ""))
    elif not group.supports(asked.protocol_type, [name for name, _ in asked.protocols]):
        reply.send(**refused_join(ErrorCode.inconsistent_group_protocol, asked.member_id))
    elif not asked.member_id:
        _join_new(rebalancing, group, asked, reply)
    elif asked.member_id in group.pending_joins:
        if asked.instance_id is not None:
            raise RequestRefused(ErrorCode.unknown_server_error)  # Kafka does not expect it, and fails
        rebalancing.add(group, _member(asked, asked.member_id, reply))
    else:
        try:
            member = group.validate_member(asked.member_id, asked.instance_id)
        except RequestRefused as refused:
            reply.send(**refused_join(refused.code, asked.member_id))
        else:
            _rejoin(rebalancing, group, asked, member, reply)


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    if group.is_in(ClassicState.EMPTY, ClassicState.DEAD):
        return True
    known = group.members.get(member_id)
    if group.is_in(ClassicState.PREPARING):
        return (known is not None and known.join is not None) or len(group.awaiting_join) < max_size
    return known is not None or len(group.members) < max_size


def _member(asked: Joining, member_id: str, reply: Reply) -> ClassicMember:
    return ClassicMember(
        member_id,
        asked.instance_id,
        asked.client_id,
        asked.rebalance_timeout_ms,
        asked.session_timeout_ms,
        asked.protocol_type,
        asked.protocols,
        join=reply,
    )


def _join_new(rebalancing: Rebalancing, group: ClassicGroup, asked: Joining, reply: Reply) -> None:
    if asked.instance_id is not None and asked.instance_id in group.static_members:
        _return_static(rebalancing, group, asked, reply)
    elif asked.instance_id is None and asked.version >= KNOWN_ID_FROM_VERSION:
        rebalancing.expect_member(group, asked.new_member_id, asked.session_timeout_ms)
        reply.send(**refused_join(ErrorCode.member_id_required, asked.new_member_id))
    else:
        rebalancing.add(group, _member(asked, asked.new_member_id, reply))


def _return_static(rebalancing: Rebalancing, group: ClassicGroup, asked: Joining, reply: Reply) -> None:
    """Let a static member come back under a new member id: without a rebalance if the group is stable."""
    assert asked.instance_id is not None
    leader_before = group.leader_id
    member = group.replace_static(asked.instance_id, asked.new_member_id)
    rebalancing.expect_heartbeat(group, member)
    _update(member, asked, reply)
    if group.is_in(ClassicState.STABLE):
        if group.select_protocol() != group.protocol_name:
            rebalancing.rebalance_or_complete(group)
            return
        rebalancing.store(group)
        is_leader = group.leader_id == member.member_id
        if asked.version >= _SKIP_FROM_VERSION:
            content = joined(group, member.member_id, skip_assignment=is_leader)
        else:
            content = joined(group, member.member_id) | {"leader": leader_before or "", "members": ()}
        reply.send(**content)
        member.join = None
    elif group.is_in(ClassicState.COMPLETING):
        rebalancing.prepare(group)
    else:
        rebalancing.complete_if_all_joined(group)


def _update(member: ClassicMember, asked: Joining, reply: Reply) -> None:
    member.protocols = asked.protocols
    member.rebalance_timeout_ms, member.session_timeout_ms = (
        asked.rebalance_timeout_ms,
        asked.session_timeout_ms,
    )
    member.join = reply


def _rejoin(
    rebalancing: Rebalancing, group: ClassicGroup, asked: Joining, member: ClassicMember, reply: Reply
) -> None:
    """Let a known member join again. It gets the current generation if nothing has changed."""
    has_changed = member.protocols != asked.protocols
    is_leader = group.leader_id == member.member_id
    if group.is_in(ClassicState.EMPTY, ClassicState.DEAD):
        reply.send(**refused_join(ErrorCode.unknown_member_id, asked.member_id))
    elif (group.is_in(ClassicState.COMPLETING) and not has_changed) or (
        group.is_in(ClassicState.STABLE) and not has_changed and not is_leader
    ):
        reply.send(**joined(group, member.member_id))
    else:
        _update(member, asked, reply)
        rebalancing.rebalance_or_complete(group)


def sync(
    rebalancing: Rebalancing,
    group: ClassicGroup,
    member: ClassicMember,
    assignments: Mapping[str, bytes],
    reply: Reply,
) -> None:
    """Handle a SyncGroup of a valid member. The reply waits for the leader's assignment. Raises RequestRefused."""
    if group.is_in(ClassicState.PREPARING):
        raise RequestRefused(ErrorCode.rebalance_in_progress)
    if group.is_in(ClassicState.STABLE):
        rebalancing.synced(group, member.member_id)
        reply.send(**synced(group, member))
        return
    member.sync = reply
    rebalancing.synced(group, member.member_id)
    if group.leader_id == member.member_id:
        rebalancing.assign(group, assignments)


def heartbeat(
    rebalancing: Rebalancing, group: ClassicGroup, member: ClassicMember, generation_id: int
) -> None:
    """Handle a heartbeat of a valid member. Raises RequestRefused with what the member has to do."""
    if generation_id != group.generation_id:
        raise RequestRefused(ErrorCode.illegal_generation)
    rebalancing.expect_heartbeat(group, member)
    if group.is_in(ClassicState.PREPARING):
        raise RequestRefused(ErrorCode.rebalance_in_progress)


def leave(
    rebalancing: Rebalancing, group: ClassicGroup, members: Iterable[tuple[str, str | None]]
) -> list[ErrorCode]:
    """Remove members (member id, instance id), and return the error of each."""
    codes = [_leave(group, member_id, instance_id) for member_id, instance_id in members]
    if ErrorCode.none in codes:
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING):
            rebalancing.rebalance_or_complete(group)
        else:
            rebalancing.complete_if_all_joined(group)
    return codes


def _leave(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    if not member_id:
        member_id = group.static_members.get(instance_id, "") if instance_id is not None else ""
        if not member_id:
            return ErrorCode.unknown_member_id
    elif member_id not in group.pending_joins:
        try:
            group.validate_member(member_id, instance_id)
        except RequestRefused as refused:
            return refused.code
    if member_id in group.members:
        answer_join(group.members[member_id], ErrorCode.unknown_member_id, member_id="")
    group.remove(member_id)
    return ErrorCode.none
