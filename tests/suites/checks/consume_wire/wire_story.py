"""The evidence of a group with what its members ask, built step by step. Time is in milliseconds since load began."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from harness.model.consumer_rows import MemberPart, OffsetPart
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.story import TOPIC, ns

#: A response comes this long after its request.
ROUND_TRIP_MS = 1


@dataclass
class WireStory(GroupStory):
    """Members and the frames on their connections. Each member has one connection until it opens another one."""

    frames: list[Frame] = field(default_factory=list)
    connection: dict[str, int] = field(default_factory=dict)

    def ask(
        self,
        member: str,
        api: str,
        at_ms: float,
        *,
        until_ms: float | None = None,
        held: bool = False,
        code: int = 0,
        answered: bool = True,
        asked: MemberPart | None = None,
        told: MemberPart | None = None,
        gives: Iterable[int] = (),
        given: Iterable[int] = (),
    ) -> None:
        """A request of ``member``, answered at ``until_ms`` with ``code``. ``gives`` and ``given`` are partitions.

        If the answer is ``held``, the broker has answered at once, and the witness kept it until then.
        """
        common = {
            "lane": 0,
            "broker": 1,
            "conn": self._conn(member, at_ms),
            "api": api,
            "api_version": 5,
            "client_id": member,
            "correlation_id": len(self.frames),
        }
        self.frames.append(
            Frame(
                ns(at_ms),
                kind=FrameKind.REQUEST,
                members=(asked or MemberPart("g", member, 1),),
                offsets=_places(gives),
                **common,
            )
        )
        if answered:
            answered_ms = at_ms + ROUND_TRIP_MS if until_ms is None else until_ms
            self.frames.append(
                Frame(
                    ns(answered_ms),
                    kind=FrameKind.RESPONSE,
                    received_ns=ns(at_ms + ROUND_TRIP_MS) if held else None,
                    error_codes=(code,) if code else (),
                    members=(told or MemberPart(error_code=code),),
                    offsets=_places(given),
                    **common,
                )
            )

    def join(
        self,
        member: str,
        at_ms: float,
        *,
        until_ms: float | None = None,
        code: int = 0,
        generation: int = 1,
        leader: str = "",
        protocol: str = "range",
        offered: tuple[str, ...] = (),
        answered: bool = True,
        instance: str | None = None,
    ) -> None:
        """A JoinGroup with a rebalance timeout of ten seconds and a session timeout of six."""
        self.ask(
            member,
            "JoinGroup",
            at_ms,
            until_ms=until_ms,
            code=code,
            answered=answered,
            asked=MemberPart(
                "g",
                member,
                protocols=offered or (protocol,),
                instance_id=instance,
                session_timeout_ms=6_000,
                rebalance_timeout_ms=10_000,
            ),
            told=MemberPart(
                None, member, -1 if code else generation, protocol=protocol, leader=leader, error_code=code
            ),
        )

    def hang_up(self, member: str, at_ms: float, by: str = "client") -> None:
        """The member's connection ends. Its next request opens another one."""
        conn = self.connection.pop(member)
        self.frames.append(Frame(ns(at_ms), 0, 1, conn, FrameKind.CLOSE, closed_by=by))

    def call(self, member: str, op: str, at_ms: float) -> None:
        """The application calls something."""
        self.done(op, member, at_ms)

    def evidence(self) -> Evidence:
        """Return the evidence, with its frames in order of time."""
        frames = sorted(self.frames, key=lambda frame: frame.t_ns)
        return replace(super().evidence(), frames=tuple(frames))

    def _conn(self, member: str, at_ms: float) -> int:
        if member not in self.connection:
            conn = 1 + sum(frame.kind is FrameKind.OPEN for frame in self.frames)
            self.connection[member] = conn
            self.frames.append(Frame(ns(at_ms) - 1, 0, 1, conn, FrameKind.OPEN))
        return self.connection[member]


def _places(partitions: Iterable[int]) -> tuple[OffsetPart, ...]:
    return tuple(OffsetPart(TOPIC, partition) for partition in partitions)
