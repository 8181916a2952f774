"""Draw plans of groups of KIP-848: one group, up to three members, dynamic or static, and topics that change.

The sides choose topic ids, and in version 0 member ids. Where an assignment would depend on their order, there is one
topic or the range assignor, and ids that the plan knows.
"""

from __future__ import annotations

from typing import Any, Final

from harness.wire.apis import Api
from testkit.fidelity import group_steps as g
from testkit.fidelity import steps as s
from testkit.fidelity.classic_plans import OffsetDrawing

_REBALANCE_MS: Final = 300_000
_COMMIT_FROM_VERSION, _FETCH_FROM_VERSION = 9, 9
_LOWEST_COMMIT, _LOWEST_FETCH = 2, 1


def draw(seed: int, version: str, nodes: int, length: int = 50) -> s.FidelityPlan:
    """Return the plan of a seed for brokers of a version that has KIP-848."""
    return _ConsumerDrawing(seed, version, nodes).plan(length)


class _ConsumerDrawing(OffsetDrawing):
    def __init__(self, seed: int, version: str, nodes: int) -> None:
        super().__init__("consumer", seed, version, nodes)
        self.topics = (s.TopicSpec("a", self.dice.between(1, 5)), s.TopicSpec("b", self.dice.between(1, 3)))
        self.partitions = {topic.label: topic.partitions for topic in self.topics}
        self.members = ("ma", "mb", "mc")[: self.dice.between(1, 3)]
        self.is_range = self.one_in(2)
        self.instances = {member: f"i{member}" if self.one_in(3) else None for member in self.members}
        #: Version 0 lets the broker choose the ids of dynamic members.
        self.whole = self.dice.choice((("a",), ("a",), ("a", "nowhere")))
        self.versions = (0, 1) if len(self.members) == 1 else (1,)

    def plan(self, length: int) -> s.FidelityPlan:
        steps = self.enters()
        while len(steps) < length:
            steps += self.some(
                (
                    (10, self.enters),
                    (25, self.beats),
                    (10, self.settles),
                    (8, self.odd_joins),
                    (8, self.odd_beats),
                    (6, self.subscribes),
                    (8, self.leaves),
                    (7, self.describes),
                    (8, self.commits),
                    (6, self.offsets),
                    (4, self.classics),
                    (4, self.faults),
                )
            )
        return s.FidelityPlan(f"consumer-{self.seed}-{self.nodes}", self.nodes, self.topics, tuple(steps))

    # Heartbeats

    def beat(self, member: str, **values: Any) -> g.ConsumerGroupHeartbeat:
        given: dict[str, Any] = {"instance": self.instances.get(member), "node": self.node()}
        return g.ConsumerGroupHeartbeat(self.dice.choice(self.versions), "g", member, **(given | values))

    def subscription(self) -> tuple[str, ...]:
        if not self.is_range:
            return self.whole
        return self.dice.choice((("a", "b"), ("a", "b"), ("a",), ("b",), ("a", "nowhere")))

    def joining(self, member: str) -> dict[str, Any]:
        return {
            "epoch": 0,
            "rebalance_timeout_ms": _REBALANCE_MS,
            "topics": self.subscription(),
            "assignor": "range" if self.is_range else self.dice.choice((None, "uniform")),
            "owned": "nothing",
        }

    def enters(self) -> list[s.Step]:
        member = self.dice.choice(self.members)
        return [self.beat(member, **self.joining(member))]

    def beats(self) -> list[s.Step]:
        """Send what a client sends between changes, or when it has given partitions up."""
        member = self.dice.choice(self.members)
        return [self.beat(member, owned=self.dice.choice((None, "assigned", "assigned", "nothing")))]

    def settles(self) -> list[s.Step]:
        """Let every member report what it was told, twice."""
        return [self.beat(member, owned="assigned") for _ in range(2) for member in self.members]

    def odd_joins(self) -> list[s.Step]:
        member = self.dice.choice(self.members)
        change: dict[str, Any] = self.dice.choice(
            (
                {"rebalance_timeout_ms": -1},
                {"topics": () if self.is_range else None},
                {"topics": None},
                {"owned": None},
                {"owned": "assigned"},
                {"assignor": "no-such-assignor"},
                {"instance": ""},
                {"rack": ""},
                {"rack": "r1"},
                {"member_id": g.NO_ID if 0 not in self.versions else g.OWN},
                {"instance": "ima"},
                {"instance": "imb"},
            )
        )
        if change.get("instance"):
            # A member keeps its instance id. The one that takes it over is another member.
            taker = "mx" if change["instance"] == "ima" else "my"
            return [self.beat(taker, **(self.joining(member) | change))]
        return [self.beat(member, **(self.joining(member) | change))]

    def odd_beats(self) -> list[s.Step]:
        member = self.dice.choice(self.members)
        change: dict[str, Any] = self.dice.choice(
            (
                {"ahead": -1},
                {"ahead": -1, "owned": "assigned"},
                {"ahead": -1, "owned": "nothing"},
                {"ahead": 1},
                {"ahead": 5},
                {"epoch": -3},
                {"member_id": g.UNKNOWN},
                {"member_id": g.NO_ID},
                {"instance": "ima"},
                {"instance": "other"},
                {"instance": None},
                {"assignor": "no-such-assignor"},
            )
        )
        return [self.beat(member, **change)]

    def subscribes(self) -> list[s.Step]:
        """Change the subscription, or send everything again."""
        member = self.dice.choice(self.members)
        full: dict[str, Any] = {
            "topics": self.subscription(),
            "rebalance_timeout_ms": _REBALANCE_MS,
            "owned": "assigned",
        }
        if self.one_in(2):
            return [self.beat(member, **full)]
        return [self.beat(member, topics=self.subscription())]

    def leaves(self) -> list[s.Step]:
        member = self.dice.choice(self.members)
        epoch = self.dice.choice((-1, -1, -2))
        values: dict[str, Any] = {}
        if self.one_in(6):
            values = self.dice.choice(
                ({"member_id": g.UNKNOWN}, {"instance": "other"}, {"instance": "ima"}, {"member_id": g.NO_ID})
            )
        return [self.beat(member, epoch=epoch, **values)]

    # Around

    def describes(self) -> list[s.Step]:
        version = self.version(Api.CONSUMER_GROUP_DESCRIBE)
        return [g.ConsumerGroupDescribe(version, self.dice.choice((("g",), ("g",), ("g", "empty"))))]

    def commits(self) -> list[s.Step]:
        member = self.dice.choice(self.members)
        low = _COMMIT_FROM_VERSION if not self.one_in(6) else _LOWEST_COMMIT
        return [
            g.OffsetCommit(
                self.version(Api.OFFSET_COMMIT, low),
                "g",
                self.commit_parts(),
                member,
                self.dice.choice((g.OWN, g.OWN, g.OWN, g.OWN, g.UNKNOWN, g.NO_ID)),
                ahead=self.dice.choice((0, 0, 0, 0, -1, 1, None)),
                node=self.node(),
            )
        ]

    def offsets(self) -> list[s.Step]:
        low = _FETCH_FROM_VERSION if not self.one_in(6) else _LOWEST_FETCH
        version = self.version(Api.OFFSET_FETCH, low)
        parts = self.fetch_parts()
        if parts is None and version < 2:
            parts = (("a", 0),)
        return [
            g.OffsetFetch(
                version,
                ("g",),
                parts,
                self.dice.choice((None, *self.members)),
                self.dice.choice((g.OWN, g.OWN, g.OWN, g.UNKNOWN)),
                self.dice.choice((0, 0, 0, -1, 1)),
                node=self.node(),
            )
        ]

    def classics(self) -> list[s.Step]:
        """Ask as a member of a classic group, or about one."""
        steps: tuple[s.Step, ...] = (
            g.Heartbeat(self.version(Api.HEARTBEAT), "g", "old", member_id=g.UNKNOWN),
            g.SyncGroup(self.version(Api.SYNC_GROUP), "g", "old", member_id=g.UNKNOWN),
            g.LeaveGroup(self.version(Api.LEAVE_GROUP), "g", (("old", g.UNKNOWN, None),)),
            g.DescribeGroups(self.version(Api.DESCRIBE_GROUPS), ("g",)),
        )
        return [self.dice.choice(steps)]

    def faults(self) -> list[s.Step]:
        label = self.dice.choice(("a", "b"))
        if self.partitions[label] < 7:
            self.partitions[label] += self.dice.between(1, 2)
            return [s.AddPartitions(label, self.partitions[label])]
        return [s.RecreateTopic(label)]
