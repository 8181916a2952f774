"""The elements of plans about groups: classic ones, groups of KIP-848, and the offsets that both commit.

Groups and members have the plan's own names. A member sends the member id and the generation or epoch that it was told
last, unless the step says otherwise, so that a plan is played alike by brokers that choose other ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from testkit.fidelity.targets import COORDINATOR

#: Member ids in place of a name of the plan: the member's own, none, and one that no member has.
OWN, NO_ID, UNKNOWN = "own", "", "unknown"
#: The generation of a client outside of every group, in place of a distance from the member's own.
NO_GENERATION: Final = None
PROTOCOL_TYPE: Final = "consumer"


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """``protocols`` are (name, metadata). The request may wait; the plan continues."""

    version: int
    group: str
    member: str
    protocols: tuple[tuple[str, str], ...] = (("range", "v1"),)
    member_id: str = OWN
    instance: str | None = None
    protocol_type: str = PROTOCOL_TYPE
    session_timeout_ms: int = 300_000
    rebalance_timeout_ms: int = 300_000
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """``ahead`` is the distance from the member's generation. A member that leads brings assignments if ``assigns``."""

    version: int
    group: str
    member: str
    member_id: str = OWN
    instance: str | None = None
    ahead: int = 0
    protocol_type: str | None = PROTOCOL_TYPE
    protocol_name: str | None = OWN
    assigns: bool = True
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class Heartbeat:
    version: int
    group: str
    member: str
    member_id: str = OWN
    instance: str | None = None
    ahead: int = 0
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """``leaving`` are (member, member id, instance); before version 3 the first one only."""

    version: int
    group: str
    leaving: tuple[tuple[str, str, str | None], ...]
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class CommitPart:
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """``ahead`` is the distance from the member's generation or epoch; NO_GENERATION for a client without one."""

    version: int
    group: str
    parts: tuple[CommitPart, ...]
    member: str = "m1"
    member_id: str = OWN
    instance: str | None = None
    ahead: int | None = 0
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """``parts`` None means all. ``member`` None sends no member id and no epoch."""

    version: int
    groups: tuple[str, ...]
    parts: tuple[tuple[str, int], ...] | None
    member: str | None = None
    member_id: str = OWN
    ahead: int = 0
    require_stable: bool = False
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class DescribeGroups:
    version: int
    groups: tuple[str, ...]
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """A heartbeat of KIP-848. None leaves a field out.

    ``epoch`` None sends the member's own, plus ``ahead``. ``owned``: "assigned" (what the member was told last),
    "nothing", or None.
    """

    version: int
    group: str
    member: str
    member_id: str = OWN
    epoch: int | None = None
    ahead: int = 0
    instance: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: str | None = None
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescribe:
    version: int
    groups: tuple[str, ...]
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass."""

    duration_ms: int


GroupStep = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
    | DescribeGroups
    | ConsumerGroupHeartbeat
    | ConsumerGroupDescribe
    | Wait
)
