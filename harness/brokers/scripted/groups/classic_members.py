"""Members that use the classic protocol in a group of KIP-848, as during an upgrade of the group.

Their requests are those of a classic group, and the group answers each at once: no member leads, the coordinator
assigns, and a member's generation is its epoch (``classicGroupJoinToConsumerGroup`` and its neighbours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.groups.classic_group import CONSUMER_PROTOCOL, cancel, refused_join
from harness.brokers.scripted.groups.classic_requests import KNOWN_ID_FROM_VERSION, Joining
from harness.brokers.scripted.groups.consumer_group import (
    ClassicSide,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
)
from harness.brokers.scripted.groups.consumer_requests import ConsumerGroups, static_member
from harness.brokers.scripted.groups.server_assignors import Assignment
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.wire.embedded_protocol import read_subscription, write_assignment
from harness.wire.errors import WireError

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState

_NO_REGEX: Final = None


class ClassicMembers:
    """Moves the classic members of groups of KIP-848 of one broker on."""

    def __init__(self, state: ClusterState, node_id: int) -> None:
        self._state, self._node_id = state, node_id
        self._moves = ConsumerGroups(state, node_id)

    def join(self, group: ConsumerGroup, asked: Joining, reply: Reply) -> None:
        """Handle a JoinGroup. Raises RequestRefused."""
        self._moves.check_room(group, asked.member_id)
        if not group.supports(asked.protocol_type, [name for name, _ in asked.protocols]):
            raise RequestRefused(ErrorCode.inconsistent_group_protocol)
        member_id = asked.member_id or self._moves.new_member_id()
        if not asked.member_id and asked.instance_id is None and asked.version >= KNOWN_ID_FROM_VERSION:
            reply.send(**refused_join(ErrorCode.member_id_required, member_id))
            return
        side = ClassicSide(asked.session_timeout_ms, asked.protocols)
        try:
            subscription = read_subscription(side.metadata)
        except WireError:
            raise RequestRefused(ErrorCode.unknown_server_error) from None
        member = self._member(group, asked, member_id)
        before = member.topics, member.regex
        member.classic, member.client_id = side, asked.client_id
        member.instance_id = asked.instance_id or member.instance_id
        member.rebalance_timeout_ms = asked.rebalance_timeout_ms
        member.topics, member.regex = subscription.topics, _NO_REGEX
        topics = self._moves.topics()
        owned = frozenset((topics[name][0], index) for name, index in subscription.owned if name in topics)
        is_changed = before != (member.topics, member.regex)
        self._moves.move(group, member, owned, is_changed=is_changed)
        cancel(member.joining)
        member.joining = None
        reply.send(**_joined(member, side))
        is_static = asked.instance_id is not None
        groups = self._state.groups
        if not (is_static and groups.downgrade(self._node_id, group, (), is_changed=is_changed)):
            cancel(member.syncing)
            member.syncing = self._moves.fence_after(asked.rebalance_timeout_ms, group, member)

    def _member(self, group: ConsumerGroup, asked: Joining, member_id: str) -> ConsumerMember:
        if asked.instance_id is not None:
            if asked.member_id:
                return static_member(group, asked.instance_id, member_id)
            if (known := group.static_member(asked.instance_id)) is not None:
                return group.replace(known, member_id)
        return group.members.setdefault(member_id, ConsumerMember(member_id))

    def sync(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        generation_id: int,
        named: tuple[str | None, str | None],
    ) -> bytes:
        """Return the assignment of a member, for its SyncGroup. Raises RequestRefused.

        ``named`` are the protocol's type and name that it says it was given.
        """
        side = _side(member, generation_id)
        if named[0] not in (None, CONSUMER_PROTOCOL) or named[1] not in (None, side.protocols[0][0]):
            raise RequestRefused(ErrorCode.inconsistent_group_protocol)
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED:
            self._expect_join(group, member)
            raise RequestRefused(ErrorCode.rebalance_in_progress)
        cancel(member.syncing)
        member.syncing = None
        self._moves.expect(group, member)
        return self._assignment(member.assigned, side)

    def heartbeat(self, group: ConsumerGroup, member: ConsumerMember, generation_id: int) -> None:
        """Handle a Heartbeat. Raises RequestRefused if the member has to join again, or for another reason."""
        _side(member, generation_id)
        self._moves.expect(group, member)
        may_get_more = member.state is MemberState.UNRELEASED and not group.is_waiting(member)
        if member.epoch < group.epoch or member.state is MemberState.UNREVOKED or may_get_more:
            self._expect_join(group, member)
            raise RequestRefused(ErrorCode.rebalance_in_progress)

    def _expect_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Fence the member if it does not join in time after it was first told to."""
        if member.joining is None:
            member.joining = self._moves.fence_after(member.rebalance_timeout_ms, group, member)

    def _assignment(self, assigned: Assignment, side: ClassicSide) -> bytes:
        names = names_of(self._state)
        return write_assignment(
            [(names[topic], index) for topic, index in assigned if topic in names], side.metadata
        )


def names_of(state: ClusterState) -> dict[UUID, str]:
    """Return the names of all topics by their ids."""
    return {topic_id: topic.name for topic_id, topic in state.topics_by_id.items()}


def find_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """Return the member that a request names. Raises RequestRefused if it is unknown or fenced."""
    if instance_id is not None:
        return static_member(group, instance_id, member_id)
    member = group.members.get(member_id)
    if member is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    return member


def _side(member: ConsumerMember, generation_id: int) -> ClassicSide:
    if member.classic is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    if member.epoch != generation_id:
        raise RequestRefused(ErrorCode.illegal_generation)
    return member.classic


def _joined(member: ConsumerMember, side: ClassicSide) -> dict[str, object]:
    return {
        "error_code": ErrorCode.none,
        "generation_id": member.epoch,
        "protocol_type": CONSUMER_PROTOCOL,
        "protocol_name": side.protocols[0][0],
        "leader": "",
        "skip_assignment": False,
        "member_id": member.member_id,
        "members": (),
    }
