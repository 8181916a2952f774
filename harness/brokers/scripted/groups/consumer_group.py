"""A group of KIP-848: members with epochs, a target assignment, and how each member reaches its target.

``ConsumerGroup`` and ``CurrentAssignmentBuilder`` in Kafka. A member gives up partitions before its epoch rises, and
gets no partition that another member still has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from harness.brokers.scripted.agenda import Timer
from harness.brokers.scripted.groups.classic_group import CONSUMER_PROTOCOL, Protocols, cancel
from harness.brokers.scripted.groups.server_assignors import ASSIGNORS, Assignment, Partition, Subscriber

LEAVES: Final = -1
LEAVES_FOR_NOW: Final = -2
_NOTHING: Final[Assignment] = frozenset()


class MemberState(StrEnum):
    """Where a member is on the way to its target."""

    STABLE = "Stable"
    UNREVOKED = "UnrevokedPartitions"
    UNRELEASED = "UnreleasedPartitions"


class GroupState(StrEnum):
    """The states of a group."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What the group knows of a member that uses the classic protocol (``ClassicMemberMetadata``)."""

    session_timeout_ms: int
    protocols: Protocols

    @property
    def metadata(self) -> bytes:
        """The metadata of its first protocol, the only one that counts."""
        return self.protocols[0][1]


@dataclass(slots=True)
class ConsumerMember:
    """A member. ``assigned`` is what it may read, ``revoking`` what it has not given up yet.

    ``assigned_in`` is the epoch in which it was assigned each of them. ``classic`` is None if it uses the protocol of
    KIP-848. A classic member has to join in time once it was told so, and then to ask for its assignment (``joining``,
    ``syncing``); another one has to give up partitions in time (``rebalance``).
    """

    member_id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Assignment = _NOTHING
    revoking: Assignment = _NOTHING
    assigned_in: dict[Partition, int] = field(default_factory=dict)
    classic: ClassicSide | None = None
    session: Timer | None = None
    rebalance: Timer | None = None
    joining: Timer | None = None
    syncing: Timer | None = None

    def expect_nothing(self) -> None:
        """Cancel all timers of the member."""
        for timer in (self.session, self.rebalance, self.joining, self.syncing):
            cancel(timer)
        self.session = self.rebalance = self.joining = self.syncing = None

    def is_reconciled(self, target_epoch: int) -> bool:
        """Return whether the member has its target."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def hold(self, assigned: Assignment, revoking: Assignment, epoch: int) -> None:
        """Set what the member may read and has to give up. New partitions are assigned in ``epoch``."""
        self.assigned, self.revoking = assigned, revoking
        known = self.assigned_in
        self.assigned_in = {each: known.get(each, epoch) for each in assigned | revoking}

    def advance(self, epoch: int) -> None:
        """Give the member an epoch, and remember the one before: its client may not know the new one yet."""
        self.previous_epoch, self.epoch = self.epoch, epoch


@dataclass(slots=True)
class ConsumerGroup:
    """One group. ``topics`` is what the target was made for: the subscribed topics' ids and partitions.

    The epochs begin at 1, so that the first member has epoch 2.
    """

    group_id: str
    epoch: int = 1
    target_epoch: int = 1
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    topics: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    empty_since_ms: int = -1

    @property
    def state(self) -> GroupState:
        """The state, which follows from the epochs."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled(self.target_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def assignor(self) -> str:
        """The assignor that most members ask for, or the default."""
        counts = Counter(each.assignor for each in self.members.values() if each.assignor is not None)
        return counts.most_common(1)[0][0] if counts else next(iter(ASSIGNORS))

    @property
    def classic_members(self) -> list[ConsumerMember]:
        """The members that use the classic protocol."""
        return [each for each in self.members.values() if each.classic is not None]

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Return whether a classic member with these protocols fits to the other classic ones."""
        known = [dict(each.classic.protocols) for each in self.classic_members if each.classic is not None]
        return protocol_type == CONSUMER_PROTOCOL and any(
            all(name in protocols for protocols in known) for name in names
        )

    def is_waiting(self, member: ConsumerMember) -> bool:
        """Return whether another member still has a partition of the member's target."""
        target = self.targets.get(member.member_id, _NOTHING)
        return any(self._is_held(each) for each in target - member.assigned)

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """Return the member with an instance id, or None."""
        return next((each for each in self.members.values() if each.instance_id == instance_id), None)

    def subscribed(self, member: ConsumerMember, existing: Mapping[str, tuple[UUID, int]]) -> set[str]:
        """Return the topics of a member that exist: by their names, or by its regular expression."""
        names = {name for name in member.topics if name in existing}
        if member.regex:
            pattern = re.compile(member.regex)
            names |= {name for name in existing if pattern.fullmatch(name)}
        return names

    def refresh(self, existing: Mapping[str, tuple[UUID, int]], *, is_changed: bool) -> None:
        """Begin a group epoch if a subscription or a subscribed topic has changed, and make a new target for it."""
        topics = self._topics(existing)
        if is_changed or topics != self.topics:
            self.epoch += 1
            self.topics = topics
        if self.epoch > self.target_epoch:
            self._assign(existing)
            self.target_epoch = self.epoch

    def _topics(self, existing: Mapping[str, tuple[UUID, int]]) -> dict[str, tuple[UUID, int]]:
        names = {name for member in self.members.values() for name in self.subscribed(member, existing)}
        return {name: existing[name] for name in names}

    def _assign(self, existing: Mapping[str, tuple[UUID, int]]) -> None:
        subscribers = {
            member_id: Subscriber(
                frozenset(existing[name][0] for name in self.subscribed(member, existing)),
                self.targets.get(member_id, _NOTHING),
                member.instance_id,
            )
            for member_id, member in self.members.items()
        }
        counts = dict(self.topics.values())
        self.targets = ASSIGNORS[self.assignor](subscribers, counts) if subscribers else {}

    def _is_held(self, partition: Partition) -> bool:
        """Return whether a member has a partition, or has not given it up yet."""
        return any(partition in each.assigned or partition in each.revoking for each in self.members.values())

    def reconcile(
        self,
        member: ConsumerMember,
        owned: Assignment | None,
        subscribed: Collection[UUID],
        *,
        is_changed: bool,
    ) -> None:
        """Bring a member nearer to its target (``CurrentAssignmentBuilder``).

        ``owned`` is what it says that it owns now, or None. ``subscribed`` are the ids of its topics, and
        ``is_changed`` is whether this heartbeat has changed them.
        """
        is_there = member.is_reconciled(self.target_epoch)
        if is_there or (member.state is MemberState.UNREVOKED and _owns(owned, member.revoking)):
            if is_changed:
                self._give_up_unsubscribed(member, owned, subscribed)
            return
        target = frozenset(
            each for each in self.targets.get(member.member_id, _NOTHING) if each[0] in subscribed
        )
        kept, revoking = member.assigned & target, member.assigned - target
        if revoking and _owns(owned, revoking):
            member.state = MemberState.UNREVOKED
            member.hold(kept, revoking, self.target_epoch)
            member.advance(member.epoch)
            return
        member.revoking, member.assigned = _NOTHING, kept
        wanted = target - kept
        free = frozenset(each for each in wanted if not self._is_held(each))
        member.state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED
        member.hold(kept | free, _NOTHING, self.target_epoch)
        member.advance(self.target_epoch)

    def _give_up_unsubscribed(
        self, member: ConsumerMember, owned: Assignment | None, subscribed: Collection[UUID]
    ) -> None:
        """Take the partitions of topics from a member that it no longer subscribes to."""
        lost = frozenset(each for each in member.assigned if each[0] not in subscribed)
        if not lost:
            return
        revoking = member.revoking | lost
        if _owns(owned, revoking):
            member.state = MemberState.UNREVOKED
        else:
            revoking = member.revoking
        member.hold(member.assigned - lost, revoking, self.target_epoch)
        member.advance(member.epoch)

    def replace(self, old: ConsumerMember, member_id: str) -> ConsumerMember:
        """Let a static member continue under another member id."""
        del self.members[old.member_id]
        self.targets[member_id] = self.targets.pop(old.member_id, _NOTHING)
        old.expect_nothing()
        old.member_id, old.epoch, old.previous_epoch = member_id, 0, 0
        old.state = MemberState.STABLE
        self.members[member_id] = old
        return old

    def remove(
        self, leaving: Iterable[ConsumerMember], existing: Mapping[str, tuple[UUID, int]], now_ms: int
    ) -> None:
        """Remove members, in one group epoch. The next heartbeat of another one makes a new target."""
        for member in leaving:
            member.expect_nothing()
            del self.members[member.member_id]
            self.targets.pop(member.member_id, None)
        self.epoch += 1
        self.topics = self._topics(existing)
        if not self.members:
            self.empty_since_ms = now_ms


def _owns(owned: Assignment | None, partitions: Assignment) -> bool:
    """Return whether a member may still have some of the partitions. One that does not say what it owns may."""
    return owned is None or bool(owned & partitions)
