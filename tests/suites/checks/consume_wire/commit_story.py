"""The story of a group with the frames of its members. Time is in milliseconds since load began."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from harness.model.consumer_rows import MemberPart, OffsetPart
from harness.model.contract import OpInvoke
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.plugins.check import Inconclusive, Unsupported
from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.story import TOPIC, ns

COORDINATOR = 1


@dataclass
class CommitStory(GroupStory):
    """A group whose members have one connection each to their only broker. Answers come a millisecond later."""

    frames: list[Frame] = field(default_factory=list)
    requests: int = 0

    def call(self, op: str, member: str, at_ms: float) -> None:
        """The application of a member calls its consumer."""
        self._add(OpInvoke, member, at_ms, op=op, id=1, count=0)
        self.done(op, member, at_ms)

    def ask(
        self,
        member: str,
        api: str,
        at_ms: float,
        *,
        code: int | None = 0,
        took_ms: float = 1,
        asks: dict[str, Any] | None = None,
        tells: dict[str, Any] | None = None,
    ) -> None:
        """A member asks the coordinator, which answers with an error code, or not at all if it is None."""
        conn, self.requests = 1 + self.members.index(member), self.requests + 1
        of_both = {
            "lane": 0,
            "broker": COORDINATOR,
            "conn": conn,
            "api": api,
            "correlation_id": self.requests,
        }
        asked = {"kind": FrameKind.REQUEST, "client_id": member, "api_version": 8, **of_both, **(asks or {})}
        self.frames.append(Frame(t_ns=ns(at_ms), **asked))
        if code is not None:
            errors = (code,) if code else ()
            told = {"kind": FrameKind.RESPONSE, "error_codes": errors, **of_both, **(tells or {})}
            self.frames.append(Frame(t_ns=ns(at_ms + took_ms), **told))

    def commit_request(
        self,
        member: str,
        at_ms: float,
        offsets: dict[int, int],
        *,
        code: int | None = 0,
        epoch: int = 1,
        member_id: str = "m",
        took_ms: float = 1,
    ) -> None:
        """A member sends a commit."""
        places = tuple(OffsetPart(TOPIC, partition, offset) for partition, offset in offsets.items())
        named = (MemberPart(TOPIC, member_id, epoch),)
        told = tuple(OffsetPart(TOPIC, partition, error_code=code) for partition in offsets)
        self.ask(
            member,
            "OffsetCommit",
            at_ms,
            code=code,
            took_ms=took_ms,
            asks={"members": named, "offsets": places},
            tells={"offsets": told},
        )

    def evidence(self) -> Evidence:
        """Return the evidence, with the connections' beginnings."""
        opened = [
            Frame(ns(-2_000), 0, COORDINATOR, 1 + number, FrameKind.OPEN)
            for number in range(len(self.members))
        ]
        frames = tuple(sorted([*opened, *self.frames], key=lambda frame: frame.t_ns))
        return replace(super().evidence(), frames=frames)


def found(module: ModuleType, told: GroupStory) -> list[tuple[str, int]] | str:
    """Return code and count of each finding of a check, or why it has none."""
    try:
        return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]
    except Inconclusive:
        return "inconclusive"
    except Unsupported:
        return "unsupported"


def arises(module: ModuleType, told: GroupStory) -> int:
    """Return how often the situation of a check's only requirement arose."""
    (requirement,) = module.CHECK.requirements
    return int(requirement.arises(told.evidence()))
