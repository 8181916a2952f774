"""What members of a group of KIP-848 say: the heartbeat by which they join, subscribe, give up partitions and leave."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import Timer
from harness.brokers.scripted.answer import NS_PER_MS
from harness.brokers.scripted.groups.classic_group import cancel
from harness.brokers.scripted.groups.consumer_group import (
    LEAVES,
    LEAVES_FOR_NOW,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
)
from harness.brokers.scripted.groups.server_assignors import ASSIGNORS, Assignment
from harness.brokers.scripted.refusals import RequestRefused

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState

_ID_FROM_CLIENT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat. None means that the client did not say it, because it has not changed."""

    version: int
    member_id: str
    epoch: int
    instance_id: str | None
    rack: str | None
    client_id: str
    rebalance_timeout_ms: int
    topics: frozenset[str] | None
    regex: str | None
    assignor: str | None
    owned: Assignment | None

    @property
    def is_full(self) -> bool:
        """True if it says everything; then the response has the assignment too."""
        has_subscription = self.topics is not None or self.regex is not None
        return self.epoch == 0 or (
            self.rebalance_timeout_ms != -1 and has_subscription and self.owned is not None
        )


@dataclass(frozen=True, slots=True)
class Told:
    """The response. ``assigned`` is None if it has not changed."""

    member_id: str
    epoch: int
    assigned: Assignment | None = None


def check(beat: Beat) -> None:
    """Raise RequestRefused for a heartbeat that contradicts itself."""
    invalid = RequestRefused(ErrorCode.invalid_request)
    if "" in (beat.instance_id, beat.rack):
        raise invalid
    needs_id = beat.epoch > 0 or beat.epoch == LEAVES or beat.version >= _ID_FROM_CLIENT_VERSION
    if (needs_id and not beat.member_id) or beat.epoch < LEAVES_FOR_NOW:
        raise invalid
    if beat.epoch == LEAVES_FOR_NOW and beat.instance_id is None:
        raise invalid
    if beat.epoch == 0 and (
        beat.rebalance_timeout_ms == -1
        or beat.owned != frozenset()
        or (beat.topics is None and beat.regex is None)
    ):
        raise invalid
    if beat.assignor is not None and beat.assignor not in ASSIGNORS:
        raise RequestRefused(ErrorCode.unsupported_assignor)
    if beat.regex:
        try:
            re.compile(beat.regex)
        except re.error:
            raise RequestRefused(ErrorCode.invalid_regular_expression) from None


class ConsumerGroups:
    """Moves the groups of KIP-848 of one broker on."""

    def __init__(self, state: ClusterState, node_id: int) -> None:
        self._state = state
        self._node_id = node_id

    def heartbeat(self, group: ConsumerGroup, beat: Beat) -> Told:
        """Handle a heartbeat of a member that stays or joins. Raises RequestRefused."""
        member = self._member(group, beat)
        before = member.assigned
        self.move(group, member, beat.owned, is_changed=_subscribe(member, beat))
        is_news = beat.is_full or member.assigned != before
        return Told(member.member_id, member.epoch, member.assigned if is_news else None)

    def move(
        self, group: ConsumerGroup, member: ConsumerMember, owned: Assignment | None, *, is_changed: bool
    ) -> None:
        """Make a new target if something has changed, and bring the member nearer to it."""
        existing = self.topics()
        group.refresh(existing, is_changed=is_changed)
        subscribed = {existing[name][0] for name in group.subscribed(member, existing)}
        group.reconcile(member, owned, subscribed, is_changed=is_changed)
        self.expect(group, member)

    def topics(self) -> Mapping[str, tuple[UUID, int]]:
        """Return the topics that members may read: name -> id and number of partitions."""
        return {
            name: (topic.topic_id, len(topic.partitions))
            for name, topic in self._state.topics.items()
            if name not in self._state.settings.denied_topics
        }

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """Raise RequestRefused if the group has no room for another member."""
        is_full = len(group.members) >= self._state.settings.consumer_group_max_size
        if is_full and member_id not in group.members:
            raise RequestRefused(ErrorCode.group_max_size_reached)

    def new_member_id(self) -> str:
        """Return an id for a member without one."""
        return _as_text(self._state.new_uuid())

    def _member(self, group: ConsumerGroup, beat: Beat) -> ConsumerMember:
        self.check_room(group, beat.member_id)
        member_id = beat.member_id or self.new_member_id()
        if beat.instance_id is not None:
            static = group.static_member(beat.instance_id)
            if beat.epoch == 0 and static is not None:
                if static.epoch != LEAVES_FOR_NOW and static.classic is None:
                    raise RequestRefused(ErrorCode.unreleased_instance_id)
                return group.replace(static, member_id)
            if beat.epoch != 0:
                member = static_member(group, beat.instance_id, member_id)
                _check_epoch(member, beat)
                return member
        elif member_id in group.members:
            _check_epoch(group.members[member_id], beat)
            return group.members[member_id]
        if beat.epoch != 0:
            raise RequestRefused(ErrorCode.unknown_member_id)
        return group.members.setdefault(member_id, ConsumerMember(member_id))

    def expect(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Fence the member if it is silent for a session, or does not give up partitions in time."""
        cancel(member.session)
        session_timeout_ms = (
            self._state.settings.consumer_group_session_timeout_ms
            if member.classic is None
            else member.classic.session_timeout_ms
        )
        member.session = self.fence_after(session_timeout_ms, group, member)
        has_to_give_up = member.classic is None and member.state is MemberState.UNREVOKED
        if member.rebalance is not None and not has_to_give_up:
            member.rebalance.cancel()
            member.rebalance = None
        elif member.rebalance is None and has_to_give_up:
            member.rebalance = self.fence_after(member.rebalance_timeout_ms, group, member)

    def fence_after(self, delay_ms: int, group: ConsumerGroup, member: ConsumerMember) -> Timer:
        """Remove the member after a delay, unless the timer is cancelled."""
        agenda = self._state.agenda

        def fence(_: int) -> None:
            if group.members.get(member.member_id) is member:
                self.remove(group, [member])

        return agenda.at(agenda.now_ns + delay_ms * NS_PER_MS, fence, self._node_id)

    def remove(self, group: ConsumerGroup, leaving: Sequence[ConsumerMember]) -> None:
        """Remove members. If only classic ones are left, the group becomes classic (``consumerGroupFenceMembers``)."""
        if leaving and not self._state.groups.downgrade(self._node_id, group, leaving):
            group.remove(leaving, self.topics(), self._state.now_ms)

    def leave(self, group: ConsumerGroup, beat: Beat) -> Told:
        """Let a member leave. A static one may keep its place until its session ends. Raises RequestRefused."""
        if beat.instance_id is None:
            member = group.members.get(beat.member_id)
            if member is None:
                raise RequestRefused(ErrorCode.unknown_member_id)
        else:
            member = static_member(group, beat.instance_id, beat.member_id)
        if beat.epoch == LEAVES:
            self.remove(group, [member])
        else:
            member.epoch = LEAVES_FOR_NOW
            member.assigned_in.clear()
            member.hold(member.assigned, frozenset(), 0)
        return Told(beat.member_id, beat.epoch)

    def leave_classically(
        self, group: ConsumerGroup, leaving: Iterable[tuple[str, str | None]]
    ) -> list[ErrorCode]:
        """Remove members (member id, instance id) that ask by LeaveGroup, and return the error of each."""
        codes, found = [], []
        for member_id, instance_id in leaving:
            try:
                member = group.members.get(member_id) if instance_id is None else None
                if instance_id is not None:
                    owner = group.static_member(instance_id)
                    known_id = owner.member_id if owner is not None and not member_id else member_id
                    member = static_member(group, instance_id, known_id)
                if member is None:
                    raise RequestRefused(ErrorCode.unknown_member_id)
                found.append(member)
                codes.append(ErrorCode.none)
            except RequestRefused as refused:
                codes.append(refused.code)
        self.remove(group, list({member.member_id: member for member in found}.values()))
        return codes


def _as_text(member_id: UUID) -> str:
    """Return an id as Kafka writes it (``Uuid#toString``)."""
    return base64.urlsafe_b64encode(member_id.bytes).decode().rstrip("=")


def static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerMember:
    """Return a static member. Raises RequestRefused if it is unknown, or if another one has its instance id."""
    member = group.static_member(instance_id)
    if member is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    if member.member_id != member_id:
        raise RequestRefused(ErrorCode.fenced_instance_id)
    return member


def _check_epoch(member: ConsumerMember, beat: Beat) -> None:
    """Accept the member's epoch, 0, and the one before if its client may have missed the response (CSM-NGP-06)."""
    if beat.epoch == 0:
        return
    is_repeated = (
        beat.epoch == member.previous_epoch and beat.owned is not None and beat.owned <= member.assigned
    )
    if beat.epoch > member.epoch or (beat.epoch < member.epoch and not is_repeated):
        raise RequestRefused(ErrorCode.fenced_member_epoch)


def _subscribe(member: ConsumerMember, beat: Beat) -> bool:
    """Note what the heartbeat says. Return whether the subscription has changed."""
    before = member.topics, member.regex
    member.client_id, member.classic = beat.client_id, None
    if beat.instance_id is not None:
        member.instance_id = beat.instance_id
    if beat.rack is not None:
        member.rack = beat.rack
    if beat.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = beat.rebalance_timeout_ms
    if beat.assignor is not None:
        member.assignor = beat.assignor
    if beat.topics is not None:
        member.topics = beat.topics
    if beat.regex is not None:
        member.regex = beat.regex or None
    return before != (member.topics, member.regex)
