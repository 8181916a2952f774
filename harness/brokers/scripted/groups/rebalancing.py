"""The rebalance of a classic group: from the first JoinGroup to the assignment of every member.

The names of the steps are those of ``GroupMetadataManager``. A rebalance ends when every member has joined, or when the
longest rebalance timeout of a member is over. The first one of an empty group waits a moment for further members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import Action, Timer
from harness.brokers.scripted.answer import NS_PER_MS
from harness.brokers.scripted.groups.classic_group import (
    ClassicGroup,
    ClassicMember,
    ClassicState,
    answer_join,
    answer_sync,
    cancel,
)

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState

_NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000


class Rebalancing:
    """Moves classic groups of one broker on. ``store`` writes a group to the log."""

    def __init__(self, state: ClusterState, node_id: int, store: Callable[[ClassicGroup], None]) -> None:
        self._state = state
        self._node_id = node_id
        self.store = store

    @property
    def now_ms(self) -> int:
        """The brokers' wall clock."""
        return self._state.now_ms

    def after(self, delay_ms: int, action: Action) -> Timer:
        """Call ``action`` after a delay."""
        agenda = self._state.agenda
        return agenda.at(agenda.now_ns + delay_ms * NS_PER_MS, action, self._node_id)

    # Members.

    def expect_heartbeat(
        self, group: ClassicGroup, member: ClassicMember, within_ms: int | None = None
    ) -> None:
        """Remove the member if it sends nothing in time."""
        cancel(member.heartbeat)
        delay_ms = member.session_timeout_ms if within_ms is None else within_ms
        member.heartbeat = self.after(delay_ms, lambda _: self._expire(group, member))

    def _expire(self, group: ClassicGroup, member: ClassicMember) -> None:
        if group.members.get(member.member_id) is not member or member.needs_no_heartbeat:
            return
        answer_join(member, ErrorCode.unknown_member_id, member_id="")
        group.remove(member.member_id)
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING):
            self.rebalance_or_complete(group)
        elif group.is_in(ClassicState.PREPARING) and group.has_all_joined:
            self.complete_join(group)

    def expect_member(self, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
        """Expect a second JoinGroup, with the member id that the first one was given."""

        def expire(_: int) -> None:
            group.remove(member_id)
            if group.is_in(ClassicState.PREPARING) and group.has_all_joined:
                self.complete_join(group)

        group.pending_joins[member_id] = self.after(session_timeout_ms, expire)

    def add(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Add a member and begin a rebalance."""
        member.is_new = True
        if group.is_in(ClassicState.PREPARING) and group.previous is ClassicState.EMPTY:
            group.new_member_added = True
        group.add(member)
        self.expect_heartbeat(group, member, _NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.rebalance_or_complete(group)

    # Joining.

    def rebalance_or_complete(self, group: ClassicGroup) -> None:
        """Begin a rebalance, or continue the one in progress."""
        if group.is_in(ClassicState.PREPARING):
            self.complete_if_all_joined(group)
        else:
            self.prepare(group)

    def prepare(self, group: ClassicGroup) -> None:
        """Begin a rebalance: members that wait for their assignment learn it."""
        if group.is_in(ClassicState.COMPLETING):
            for member in group.members.values():
                member.assignment = b""
            self._propagate(group, ErrorCode.rebalance_in_progress)
        cancel(group.sync_timer)
        delay_ms = self._state.settings.group_initial_rebalance_delay_ms
        is_initial = group.is_in(ClassicState.EMPTY)
        group.move_to(ClassicState.PREPARING, self.now_ms)
        if is_initial:
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._wait_initially(group, delay_ms, remaining_ms)
        elif group.has_all_joined:
            self.complete_join(group)
        else:
            self._complete_later(group)

    def _wait_initially(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        def complete(_: int) -> None:
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                longest_ms = self._state.settings.group_initial_rebalance_delay_ms
                self._wait_initially(group, min(longest_ms, remaining_ms), max(remaining_ms - delay_ms, 0))
            else:
                self.complete_join(group)

        cancel(group.join_timer)
        group.join_timer = self.after(delay_ms, complete)

    def _complete_later(self, group: ClassicGroup) -> None:
        cancel(group.join_timer)
        group.join_timer = self.after(group.rebalance_timeout_ms, lambda _: self.complete_join(group))

    def complete_if_all_joined(self, group: ClassicGroup) -> None:
        """Begin the next generation if no member is missing. The first rebalance of a group always waits."""
        is_initial = group.previous is ClassicState.EMPTY
        if group.is_in(ClassicState.PREPARING) and not is_initial and group.has_all_joined:
            self.complete_join(group)

    def complete_join(self, group: ClassicGroup) -> None:
        """Begin the next generation without the dynamic members that have not joined."""
        cancel(group.join_timer)
        for member in tuple(group.members.values()):
            if member.join is None and member.instance_id is None:
                group.remove(member.member_id)
        if not group.elect_joined_leader() and group.members:
            self._complete_later(group)  # only static members, and none of them has joined
            return
        group.begin_generation(self.now_ms)
        if group.is_in(ClassicState.EMPTY):
            self.store(group)
            return
        for member in tuple(group.members.values()):
            if member.join is not None:
                member.join.send(**joined(group, member.member_id))
                member.join = None
            self.expect_heartbeat(group, member)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
        generation_id = group.generation_id
        group.sync_timer = self.after(
            group.rebalance_timeout_ms, lambda _: self._expire_syncs(group, generation_id)
        )

    # Assigning.

    def _expire_syncs(self, group: ClassicGroup, generation_id: int) -> None:
        if generation_id != group.generation_id or not group.pending_syncs:
            return
        if group.is_in(ClassicState.COMPLETING, ClassicState.STABLE):
            for member_id in tuple(group.pending_syncs):
                group.remove(member_id)
            self.prepare(group)

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """Note that a member has sent its SyncGroup."""
        group.pending_syncs.discard(member_id)
        if not group.pending_syncs:
            cancel(group.sync_timer)

    def assign(self, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
        """Give every member the leader's assignment. Members that the leader left out get an empty one."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        self.store(group)
        self._propagate(group, ErrorCode.none)
        group.move_to(ClassicState.STABLE, self.now_ms)

    def _propagate(self, group: ClassicGroup, code: ErrorCode) -> None:
        for member in tuple(group.members.values()):
            if member.sync is None:
                continue
            if code is ErrorCode.none:
                member.sync.send(**synced(group, member))
                member.sync = None
            else:
                answer_sync(member, code)
            self.expect_heartbeat(group, member)


def joined(group: ClassicGroup, member_id: str, *, skip_assignment: bool = False) -> dict[str, object]:
    """Return the content of a successful JoinGroup response. Only the leader's has the members (id, instance, data)."""
    is_leader = group.leader_id == member_id
    return {
        "error_code": ErrorCode.none,
        "generation_id": group.generation_id,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "leader": group.leader_id or "",
        "skip_assignment": skip_assignment,
        "member_id": member_id,
        "members": [
            (each.member_id, each.instance_id, each.metadata(group.protocol_name))
            for each in group.members.values()
        ]
        if is_leader
        else (),
    }


def synced(group: ClassicGroup, member: ClassicMember) -> dict[str, object]:
    """Return the content of a successful SyncGroup response."""
    return {
        "error_code": ErrorCode.none,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "assignment": member.assignment,
    }
