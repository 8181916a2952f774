"""A classic group that becomes one of KIP-848 while it is in use, and the way back (``ConsumerGroupMigrationPolicy``).

The first member that joins by the protocol of KIP-848 upgrades the group, and the end of the last such member
downgrades it. Both policies are on, as by default. Generation and epoch are one sequence: each group continues the
other's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.groups.classic_group import (
    CONSUMER_PROTOCOL,
    ClassicGroup,
    ClassicMember,
    ClassicState,
    answer_join,
    answer_sync,
    cancel,
)
from harness.brokers.scripted.groups.consumer_group import ClassicSide, ConsumerGroup, ConsumerMember
from harness.brokers.scripted.refusals import RequestRefused
from harness.wire.embedded_protocol import (
    read_assignment,
    read_subscription,
    write_assignment,
)
from harness.wire.errors import WireError


def upgraded(classic: ClassicGroup, max_size: int, topics: Mapping[str, tuple[UUID, int]]) -> ConsumerGroup:
    """Return the group of KIP-848 that continues a classic one (``convertToConsumerGroup``).

    Raise RequestRefused for a group that cannot be upgraded: another protocol type, too many members, or bytes that
    the coordinator does not understand.
    """
    if classic.protocol_type != CONSUMER_PROTOCOL or len(classic.members) > max_size:
        raise RequestRefused(ErrorCode.group_id_not_found)
    if classic.protocol_name is None:
        raise RequestRefused(
            ErrorCode.unknown_server_error
        )  # no generation yet: Kafka does not expect it, and fails
    epoch = classic.generation_id
    group = ConsumerGroup(classic.group_id, epoch=epoch, target_epoch=epoch)
    try:
        for each in classic.members.values():
            member = _as_consumer(each, classic.protocol_name, topics)
            member.epoch = member.previous_epoch = epoch
            member.assigned_in = dict.fromkeys(member.assigned, epoch)
            group.members[member.member_id] = member
            group.targets[member.member_id] = member.assigned
    except WireError:
        raise RequestRefused(ErrorCode.group_id_not_found) from None
    group.topics = {
        name: topics[name] for each in group.members.values() for name in each.topics & topics.keys()
    }
    dissolve(classic, ErrorCode.rebalance_in_progress)  # members that wait have to join the upgraded group
    return group


def _as_consumer(
    member: ClassicMember, protocol: str, topics: Mapping[str, tuple[UUID, int]]
) -> ConsumerMember:
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise RequestRefused(ErrorCode.group_id_not_found)  # a custom assignor's data would be lost
    return ConsumerMember(
        member.member_id,
        member.instance_id,
        client_id=member.client_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=read_subscription(member.metadata(protocol)).topics,
        assigned=frozenset((topics[name][0], index) for name, index in assignment.places if name in topics),
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )


def dissolve(classic: ClassicGroup, code: ErrorCode) -> None:
    """End what a classic group waits for. The error answers requests that wait."""
    for member in classic.members.values():
        cancel(member.heartbeat)
        answer_join(member, code, member_id=member.member_id)
        answer_sync(member, code)
    for timer in (classic.join_timer, classic.sync_timer, *classic.pending_joins.values()):
        cancel(timer)


def may_downgrade(group: ConsumerGroup, leaving: Collection[ConsumerMember], max_size: int) -> bool:
    """Return whether only members of the classic protocol are left, and not too many of them."""
    left = [each for each in group.members.values() if each not in leaving]
    return 0 < len(left) <= max_size and all(each.classic is not None for each in left)


def downgraded(
    group: ConsumerGroup, leaving: Collection[ConsumerMember], names: Mapping[UUID, str], now_ms: int
) -> ClassicGroup:
    """Return the stable classic group that continues one of KIP-848 without some members (``fromConsumerGroup``)."""
    state = ClassicState.STABLE
    classic = ClassicGroup(
        group.group_id, state, moves=[state], state_at_ms=now_ms, generation_id=group.epoch
    )
    for member in group.members.values():
        member.expect_nothing()
        if member in leaving or member.classic is None:
            continue
        classic.add(
            ClassicMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                CONSUMER_PROTOCOL,
                member.classic.protocols,
            )
        )
    classic.protocol_name = classic.select_protocol()
    for each in classic.members.values():
        target = group.targets.get(each.member_id, frozenset())
        places = [(names[topic], index) for topic, index in target if topic in names]
        each.assignment = write_assignment(places, each.metadata(classic.protocol_name))
    return classic
