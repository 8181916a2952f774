"""Draw plans of classic groups: two groups, up to three members each, and clients that only commit offsets.

No timeout ends during a plan, so that every wait ends by a request. Which requests a member sends does not depend on
what it was told, but the drawing follows the usual order of a rebalance often enough to get through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.wire.apis import Api
from testkit.fidelity import group_steps as g
from testkit.fidelity import steps as s
from testkit.fidelity.drawing import Drawing
from testkit.fidelity.targets import COORDINATOR, NOT_COORDINATOR

_NOWHERE: Final = "nowhere"
_LOWEST_COMMIT, _LOWEST_FETCH = 2, 1
_GROUPS_FROM_VERSION, _STABLE_FROM_VERSION, _INSTANCE_FROM_VERSION = 8, 7, 5
_PROTOCOLS: Final[Sequence[tuple[tuple[str, str], ...]]] = (
    (("range", "v1"),),
    (("range", "v1"), ("roundrobin", "v1")),
    (("roundrobin", "v1"), ("range", "v1")),
    (("sticky", "v1"), ("range", "v1"), ("roundrobin", "v1")),
)
_METADATA_LIMIT_BYTES: Final = 4096


def draw(seed: int, version: str, nodes: int, length: int = 50) -> s.FidelityPlan:
    """Return the plan of a seed for brokers of a version."""
    return _ClassicDrawing(seed, version, nodes).plan(length)


class OffsetDrawing(Drawing):
    """Draws what every kind of group has in common: its offsets."""

    topics: tuple[s.TopicSpec, ...] = (s.TopicSpec("a", 3), s.TopicSpec("b", 1))

    def commit_parts(self) -> tuple[g.CommitPart, ...]:
        parts: list[g.CommitPart] = []
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            label, partition = self.dice.choice((("a", 0), ("a", 1), ("a", 2), ("b", 0)))
            if self.one_in(15):
                label, partition = self.dice.choice(((_NOWHERE, 0), ("b", 5), ("b", -1)))
            size = self.dice.choice(
                (0, 0, 5, _METADATA_LIMIT_BYTES, _METADATA_LIMIT_BYTES + 1) if self.one_in(3) else (0,)
            )
            metadata = None if self.one_in(8) else "x" * size
            offset = self.dice.choice((0, 5, 100, 2**40, -1) if self.one_in(6) else (0, 5, 100))
            part = g.CommitPart(label, partition, offset, self.dice.choice((-1, 0, 3)), metadata)
            if all((each.topic, each.partition) != (label, partition) for each in parts):
                parts.append(part)
        return tuple(parts)

    def fetch_parts(self) -> tuple[tuple[str, int], ...] | None:
        if self.one_in(4):
            return None
        every = (("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 7), (_NOWHERE, 0))
        found = [each for each in every if self.one_in(2)]
        return tuple(found or every[:1])

    def node(self) -> int:
        return NOT_COORDINATOR if self.nodes > 1 and self.one_in(20) else COORDINATOR


class _ClassicDrawing(OffsetDrawing):
    def __init__(self, seed: int, version: str, nodes: int) -> None:
        super().__init__("classic", seed, version, nodes)
        self.members = ("m1", "m2", "m3")[: self.dice.between(1, 3)]
        #: Static members, by the plan's choice.
        self.instances: dict[str, str | None] = {
            member: f"i{member}" if self.one_in(3) else None for member in self.members
        }
        self.protocols = {member: self.dice.choice(_PROTOCOLS) for member in self.members}
        self.groups = ("g",) if not self.one_in(5) else ("g", "h")

    def plan(self, length: int) -> s.FidelityPlan:
        steps: list[s.Step] = []
        if self.one_in(2):
            steps += self.simple_offsets()
        steps += self.enters()
        while len(steps) < length:
            steps += self.some(
                (
                    (8, self.enters),
                    (8, self.rebalances),
                    (8, self.joins),
                    (12, self.syncs),
                    (12, self.heartbeats),
                    (6, self.leaves),
                    (12, self.commits),
                    (4, self.simple_offsets),
                    (8, self.offsets),
                    (6, self.describes),
                    (2, self.finds),
                )
            )
        return s.FidelityPlan(f"classic-{self.seed}-{self.nodes}", self.nodes, self.topics, tuple(steps))

    # Joining

    def instance(self, member: str, version: int, since: int = _INSTANCE_FROM_VERSION) -> str | None:
        return self.instances[member] if version >= since else None

    def join(self, group: str, member: str, **values: object) -> g.JoinGroup:
        version = self.version(Api.JOIN_GROUP)
        given: dict[str, object] = {
            "protocols": self.protocols[member],
            "instance": self.instance(member, version),
            "node": self.node(),
        }
        return g.JoinGroup(version, group, member, **(given | values))  # type: ignore[arg-type]

    def enters(self) -> list[s.Step]:
        """Let a member join as a client does: with the id that it is told to use."""
        group, member = self.dice.choice(self.groups), self.dice.choice(self.members)
        first = self.join(group, member, member_id=g.NO_ID)
        return [first, self.join(group, member)] if first.version >= 4 and first.instance is None else [first]

    def rebalances(self) -> list[s.Step]:
        """Let every member join again and get its assignment, in any order."""
        group = self.dice.choice(self.groups)
        steps: list[s.Step] = [self.join(group, member) for member in self.shuffled(self.members)]
        return steps + [self.sync(group, member) for member in self.shuffled(self.members)]

    def shuffled(self, members: Sequence[str]) -> list[str]:
        rest, order = list(members), []
        while rest:
            order.append(self.dice.choice(rest))
            rest.remove(order[-1])
        return order

    def joins(self) -> list[s.Step]:
        group, member = self.dice.choice(self.groups), self.dice.choice(self.members)
        match self.dice.between(1, 12):
            case 1:
                return [self.join(group, member, member_id=g.UNKNOWN)]
            case 2:
                return [self.join(group, member, member_id=self.dice.choice(self.members))]
            case 3:
                return [self.join(group, member, protocol_type=self.dice.choice(("connect", "")))]
            case 4:
                return [self.join(group, member, protocols=self.dice.choice(((("other", "v1"),), ())))]
            case 5:
                return [self.join(group, member, session_timeout_ms=self.dice.choice((5_999, 1_800_001, 0)))]
            case 6:
                return [self.join(self.dice.choice(("", "empty")), member)]
            case 7:
                return [self.join(group, member, instance=self.dice.choice(("im1", "im2", "other")))]
            case 8 | 9:
                version = self.dice.choice(("v1", "v2", "v3"))
                self.protocols[member] = tuple((name, version) for name, _ in self.dice.choice(_PROTOCOLS))
                return [self.join(group, member)]
            case _:
                return [self.join(group, member)]

    # Members

    def member_id(self, member: str) -> str:
        if self.one_in(8):
            return self.dice.choice((g.UNKNOWN, g.NO_ID, self.dice.choice(self.members)))
        return g.OWN

    def who(self, version: int, since: int) -> dict[str, object]:
        """Return a group, a member, and what it says of itself."""
        member = self.dice.choice(self.members)
        instance = self.instance(member, version, since)
        if version >= since and self.one_in(12):
            instance = self.dice.choice(("im1", "other", None))
        return {
            "version": version,
            "group": self.dice.choice(self.groups)
            if not self.one_in(25)
            else self.dice.choice(("", "empty")),
            "member": member,
            "member_id": self.member_id(member),
            "instance": instance,
            "ahead": self.dice.choice((-1, 1, 5)) if self.one_in(8) else 0,
            "node": self.node(),
        }

    def sync(self, group: str, member: str) -> g.SyncGroup:
        version = self.version(Api.SYNC_GROUP)
        return g.SyncGroup(version, group, member, instance=self.instance(member, version, 3))

    def syncs(self) -> list[s.Step]:
        if self.one_in(2):
            return [self.sync(self.dice.choice(self.groups), self.dice.choice(self.members))]
        given = self.who(self.version(Api.SYNC_GROUP), 3)
        if self.one_in(6):
            given["protocol_name"] = self.dice.choice((None, "other", ""))
        if self.one_in(6):
            given["protocol_type"] = self.dice.choice((None, "connect", ""))
        return [g.SyncGroup(**given, assigns=not self.one_in(4))]  # type: ignore[arg-type]

    def heartbeats(self) -> list[s.Step]:
        return [g.Heartbeat(**self.who(self.version(Api.HEARTBEAT), 3))]  # type: ignore[arg-type]

    def leaves(self) -> list[s.Step]:
        version = self.version(Api.LEAVE_GROUP)
        leaving = []
        for member in self.shuffled(self.members)[: self.dice.choice((1, 1, 2))]:
            instance = self.instances[member] if version >= 3 else None
            if version >= 3 and self.one_in(6):
                instance = self.dice.choice(("im1", "im2", "other", None))
            member_id = g.NO_ID if instance is not None and self.one_in(3) else self.member_id(member)
            leaving.append((member, member_id, instance))
        group = self.dice.choice(self.groups) if not self.one_in(20) else self.dice.choice(("", "empty"))
        return [g.LeaveGroup(version, group, tuple(leaving), self.node())]

    # Offsets

    def commits(self) -> list[s.Step]:
        given = self.who(self.version(Api.OFFSET_COMMIT, _LOWEST_COMMIT), 7)
        if self.one_in(6):
            given["ahead"] = g.NO_GENERATION
        # Offsets are accepted for a group without a name, which all plans would share.
        given["group"] = given["group"] or "empty"
        return [g.OffsetCommit(parts=self.commit_parts(), **given)]  # type: ignore[arg-type]

    def simple_offsets(self) -> list[s.Step]:
        """Let a client outside of every group commit and read."""
        group = self.dice.choice((*self.groups, "x", "x"))
        version = self.version(Api.OFFSET_COMMIT, _LOWEST_COMMIT)
        commit = g.OffsetCommit(version, group, self.commit_parts(), "m0", g.NO_ID, ahead=g.NO_GENERATION)
        return [commit, *self.offsets()]

    def offsets(self) -> list[s.Step]:
        version = self.version(Api.OFFSET_FETCH, _LOWEST_FETCH)
        groups = [self.dice.choice((*self.groups, "x", "empty"))]
        if version >= _GROUPS_FROM_VERSION and self.one_in(3):
            groups = list(dict.fromkeys((*groups, *self.groups, "x")))
        parts = self.fetch_parts()
        if parts is None and version < 2:
            parts = (("a", 0),)
        return [
            g.OffsetFetch(
                version,
                tuple(groups),
                parts,
                require_stable=version >= _STABLE_FROM_VERSION and self.one_in(2),
                node=self.node(),
            )
        ]

    def describes(self) -> list[s.Step]:
        version = self.version(Api.DESCRIBE_GROUPS)
        groups = (self.dice.choice((*self.groups, "x", "empty")),)
        return [g.DescribeGroups(version, groups if not self.one_in(3) else (*self.groups, "empty"))]

    def finds(self) -> list[s.Step]:
        version = self.version(Api.FIND_COORDINATOR)
        return [s.FindCoordinator(version, ("g", "h") if version >= 4 else ("g",), node=1)]
