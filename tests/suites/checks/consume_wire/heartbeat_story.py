"""The heartbeats of members of KIP-848, one frame after another, beside the history of their group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from msgspec.structs import replace as changed

from harness.model.consumer_contract import ConsumerError
from harness.model.consumer_rows import MemberPart, OffsetPart
from harness.model.contract import OpInvoke
from harness.model.evidence import Evidence
from harness.model.rows import Disposition, Frame, FrameKind
from harness.wire.apis import Api, api_name
from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.story import TOPIC, ns

FULL = ("subscribed_topic_names", "topic_partitions")
OWNED = ("topic_partitions",)


@dataclass
class HeartbeatStory(GroupStory):
    """A group whose members' frames are told too. Members have one connection each, until they get another."""

    frames: list[Frame] = field(default_factory=list)
    blocked: list[Frame] = field(default_factory=list)
    conns: dict[str, int] = field(default_factory=dict)
    asked: int = 0

    def connect(self, member: str, at_ms: float = -1_000) -> None:
        """The member connects, and its connection before ends."""
        if member in self.conns:
            self._frame(at_ms, self.conns[member], FrameKind.CLOSE, closed_by="client")
        self.conns[member] = 1 + len([each for each in self.frames if each.kind is FrameKind.OPEN])
        self._frame(at_ms, self.conns[member], FrameKind.OPEN)

    def beat(
        self,
        member: str,
        at_ms: float,
        epoch: int,
        said: tuple[str, ...] = (),
        owned: tuple[int, ...] = (),
        took_ms: float | None = 2,
        told: int | None = None,
        code: int = 0,
        given: tuple[int, ...] | None = None,
        interval_ms: int = 1_000,
    ) -> None:
        """A heartbeat, and its answer after a while; ``took_ms`` None if it has none."""
        timeout_ms = 10_000 if said == FULL else -1
        named = MemberPart(TOPIC, member, epoch, said=said, rebalance_timeout_ms=timeout_ms)
        answer = MemberPart(
            member_id=member,
            epoch=epoch if told is None else told,
            error_code=code,
            said=("assignment",) if given is not None else (),
            heartbeat_interval_ms=interval_ms,
        )
        self.ask(
            member,
            at_ms,
            Api.CONSUMER_GROUP_HEARTBEAT,
            named,
            answer,
            places(owned),
            places(given or ()),
            took_ms,
            code,
        )

    def commit_frame(
        self,
        member: str,
        at_ms: float,
        epoch: int,
        offsets: dict[int, int] | None = None,
        took_ms: float | None = 2,
        code: int = 0,
    ) -> None:
        """A request that commits offsets by partition, and its answer after a while."""
        named = MemberPart(TOPIC, member, epoch)
        asked = [OffsetPart(TOPIC, partition, offset) for partition, offset in (offsets or {0: 1}).items()]
        told = tuple([OffsetPart(TOPIC, each.partition, error_code=code) for each in asked])
        self.ask(member, at_ms, Api.OFFSET_COMMIT, named, MemberPart(), tuple(asked), told, took_ms, code)

    def called(self, op: str, member: str, at_ms: float) -> None:
        """The application calls the client."""
        self._add(OpInvoke, member, at_ms, op=op, id=9, count=0)

    def raised(self, call: str, member: str, at_ms: float, error: str = "KafkaException") -> None:
        """The application gets an exception from a call."""
        self._add(ConsumerError, member, at_ms, call=call, error=error)

    def ask(
        self,
        member: str,
        at_ms: float,
        api: Api,
        named: MemberPart,
        answer: MemberPart,
        offsets: tuple[OffsetPart, ...],
        answered: tuple[OffsetPart, ...],
        took_ms: float | None,
        code: int,
    ) -> None:
        """A request, and its answer after a while."""
        self.asked += 1
        row = {
            "api_key": int(api),
            "api": api_name(api),
            "api_version": 1,
            "correlation_id": self.asked,
            "client_id": member,
        }
        conn = self.conns[member]
        self._frame(at_ms, conn, FrameKind.REQUEST, members=(named,), offsets=offsets, **row)
        if took_ms is not None:
            codes = (code,) if code else ()
            told = {"members": (answer,), "offsets": answered, "error_codes": codes}
            self._frame(at_ms + took_ms, conn, FrameKind.RESPONSE, **told, **row)

    def evidence(self) -> Evidence:
        rows = sorted(self.frames, key=lambda frame: frame.t_ns)
        return replace(super().evidence(), frames=tuple(rows), blocked_frames=tuple(self.blocked))

    def block(self) -> None:
        """The last request never passes to the broker."""
        at = max(at for at, frame in enumerate(self.frames) if frame.kind is FrameKind.REQUEST)
        self.blocked.append(changed(self.frames.pop(at), disposition=Disposition.BLOCKED))

    def _frame(self, at_ms: float, conn: int, kind: FrameKind, **fields: object) -> None:
        self.frames.append(Frame(ns(at_ms), 0, 1, conn, kind, **fields))  # type: ignore[arg-type]


def places(partitions: tuple[int, ...]) -> tuple[OffsetPart, ...]:
    """Return partitions of the trial's topic."""
    return tuple(OffsetPart(TOPIC, each) for each in partitions)


def new_protocol(*members: str, companion: str = "", **config: Any) -> HeartbeatStory:
    """Return a trial whose members have connected, and not joined yet. ``config`` are settings, with _ for a dot.

    They are of the client ``companion`` instead of the one under test, if that has a name.
    """
    settings = {name.replace("_", "."): value for name, value in config.items()}
    told = HeartbeatStory(config={"group.protocol": "consumer", **settings})
    told.start(*members, companion=companion)
    for member in members:
        told.connect(member)
    return told


def codes(told: GroupStory, check: ModuleType) -> list[str]:
    """Return the anomalies that a check finds in a story."""
    return [finding.anomaly for finding in check.CHECK.run(told.evidence())]


def arises(told: GroupStory, check: ModuleType) -> int:
    """Return how often the first requirement of a check arises in a story."""
    count: int = check.CHECK.requirements[0].arises(told.evidence())
    return count


def joined(**config: Any) -> HeartbeatStory:
    """Return a member that owns two partitions."""
    told = new_protocol("m1", **config)
    told.beat("m1", -500, 0, FULL, told=1, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=-495)
    told.beat("m1", -490, 1, OWNED, (0, 1))
    told.beat("m1", 500, 1)
    return told
