"""A classic group: its members, its state, and what its coordinator stores of it (``ClassicGroup``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import Timer
from harness.brokers.scripted.apis.coordinators import bucket
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply

CONSUMER_PROTOCOL: Final = "consumer"


class ClassicState(StrEnum):
    """The states of a classic group, with Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


#: The states from which each state may be reached (``ClassicGroupState``).
PREVIOUS: Final = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING}),
    ClassicState.PREPARING: frozenset({ClassicState.STABLE, ClassicState.COMPLETING, ClassicState.EMPTY}),
    ClassicState.COMPLETING: frozenset({ClassicState.PREPARING}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING}),
    ClassicState.DEAD: frozenset(ClassicState),
}

Protocols = tuple[tuple[str, bytes], ...]
"""The protocols that a member supports, each with its metadata, in the order of its preference."""


@dataclass(slots=True)
class ClassicMember:
    """A member. ``join`` and ``sync`` are its requests that wait."""

    member_id: str
    instance_id: str | None
    client_id: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join: Reply | None = None
    sync: Reply | None = None
    heartbeat: Timer | None = None

    @property
    def needs_no_heartbeat(self) -> bool:
        """True while a request waits, which shows that the member is alive. A new member may expire even then."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return the metadata of a protocol, or nothing if the member does not support it."""
        return dict(self.protocols).get(protocol or "", b"")


class StoredMember(NamedTuple):
    """What the log keeps of a member: only the metadata of the chosen protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    metadata: bytes
    assignment: bytes


class StoredGroup(NamedTuple):
    """The group as its coordinator stored it last; another coordinator begins with this."""

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    state_at_ms: int
    members: tuple[StoredMember, ...]


@dataclass(slots=True)
class ClassicGroup:
    """One classic group. ``moves`` are the states that it had, oldest first."""

    group_id: str
    state: ClassicState = ClassicState.EMPTY
    previous: ClassicState = ClassicState.EMPTY
    state_at_ms: int = -1
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    new_member_added: bool = False
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_joins: dict[str, Timer] = field(default_factory=dict)
    pending_syncs: set[str] = field(default_factory=set)
    join_timer: Timer | None = None
    sync_timer: Timer | None = None
    moves: list[ClassicState] = field(default_factory=lambda: [ClassicState.EMPTY])

    def move_to(self, state: ClassicState, now_ms: int) -> None:
        """Change the state. Raises AssertionError for a move that Kafka does not know."""
        assert self.state in PREVIOUS[state], f"{self.state} -> {state}"
        self.previous, self.state, self.state_at_ms = self.state, state, now_ms
        self.moves.append(state)

    def is_in(self, *states: ClassicState) -> bool:
        """Return whether the group is in one of these states."""
        return self.state in states

    def add(self, member: ClassicMember) -> None:
        """Add a member. The first one leads."""
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._forget_pending(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending one. If it led, another one leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            cancel(member.heartbeat)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self._forget_pending(member_id)
        self.pending_syncs.discard(member_id)

    def _forget_pending(self, member_id: str) -> None:
        cancel(self.pending_joins.pop(member_id, None))

    def replace_static(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """Give a static member a new member id. Requests of the old one are fenced."""
        old_id = self.static_members[instance_id]
        member = self.members.pop(old_id)
        cancel(member.heartbeat)
        answer_join(member, ErrorCode.fenced_instance_id, member_id=old_id)
        answer_sync(member, ErrorCode.fenced_instance_id)
        member.member_id, member.is_new = new_member_id, False
        self.members[new_member_id] = member
        if self.leader_id == old_id:
            self.leader_id = new_member_id
        self.static_members[instance_id] = new_member_id
        return member

    def validate_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """Return a member. Raises RequestRefused if it is unknown, or if another one has its instance id."""
        if instance_id is not None:
            owner = self.static_members.get(instance_id)
            if owner is None:
                raise RequestRefused(ErrorCode.unknown_member_id)
            if owner != member_id:
                raise RequestRefused(ErrorCode.fenced_instance_id)
        if member_id not in self.members:
            raise RequestRefused(ErrorCode.unknown_member_id)
        return self.members[member_id]

    @property
    def awaiting_join(self) -> list[ClassicMember]:
        """The members whose JoinGroup waits."""
        return [member for member in self.members.values() if member.join is not None]

    @property
    def has_all_joined(self) -> bool:
        """True if every member has sent a JoinGroup, and no new one is expected to send another."""
        return len(self.awaiting_join) == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of a member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Return whether a member with these protocols fits to the others."""
        names = list(names)
        if self.is_in(ClassicState.EMPTY):
            return bool(protocol_type) and bool(names)
        if self.protocol_type != protocol_type or not names:
            return False
        return not self.members or not self._candidates().isdisjoint(names)

    def _candidates(self) -> set[str]:
        """Return the protocols that all members support."""
        counts = Counter(name for member in self.members.values() for name, _ in member.protocols)
        return {name for name, count in counts.items() if count == len(self.members)}

    def select_protocol(self) -> str:
        """Return the protocol with the most votes: each member votes for its first one that all support.

        Of several with as many votes, it is the one that comes first in Kafka's hash map.
        """
        candidates = self._candidates()
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates)
            for member in self.members.values()
        )
        most = max(votes.values())
        return min((name for name in votes if votes[name] == most), key=bucket)

    def elect_joined_leader(self) -> bool:
        """Let a member lead that has joined. Return whether there is one."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join is None:
            joined = next(iter(self.awaiting_join), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def begin_generation(self, now_ms: int) -> None:
        """Begin the next generation with the members that are left."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.move_to(ClassicState.COMPLETING if self.members else ClassicState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def stored(self) -> StoredGroup:
        """Return what the coordinator stores now."""
        members = tuple(
            StoredMember(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.rebalance_timeout_ms,
                each.session_timeout_ms,
                each.metadata(self.protocol_name),
                each.assignment,
            )
            for each in self.members.values()
        )
        return StoredGroup(
            self.generation_id,
            self.protocol_type,
            self.protocol_name,
            self.leader_id,
            self.state_at_ms,
            members,
        )


def loaded(group_id: str, stored: StoredGroup) -> ClassicGroup:
    """Return the group as a new coordinator finds it in the log."""
    state = ClassicState.STABLE if stored.members else ClassicState.EMPTY
    group = ClassicGroup(group_id, state, moves=[state], state_at_ms=stored.state_at_ms)
    for each in stored.members:
        protocols: Protocols = ((stored.protocol_name or "", each.metadata),)
        group.add(
            ClassicMember(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.rebalance_timeout_ms,
                each.session_timeout_ms,
                stored.protocol_type or "",
                protocols,
                each.assignment,
            )
        )
    group.generation_id, group.leader_id = stored.generation_id, stored.leader_id
    group.protocol_type, group.protocol_name = stored.protocol_type, stored.protocol_name
    return group


def cancel(timer: Timer | None) -> None:
    """Cancel a timer if there is one."""
    if timer is not None:
        timer.cancel()


def answer_join(member: ClassicMember, code: ErrorCode, *, member_id: str) -> None:
    """Answer the JoinGroup of a member that waits with an error."""
    if member.join is not None:
        member.join.send(**refused_join(code, member_id))
        member.join = None


def answer_sync(member: ClassicMember, code: ErrorCode) -> None:
    """Answer the SyncGroup of a member that waits with an error."""
    if member.sync is not None:
        member.sync.send(error_code=code, protocol_type=None, protocol_name=None, assignment=b"")
        member.sync = None


def refused_join(code: ErrorCode, member_id: str) -> dict[str, object]:
    """Return the content of a JoinGroup response with an error."""
    return {
        "error_code": code,
        "member_id": member_id,
        "protocol_name": None,
        "protocol_type": None,
        "leader": "",
        "members": (),
    }
