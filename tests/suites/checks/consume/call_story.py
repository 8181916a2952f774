"""Calls of applications, as evidence: what the harness asked for, how it ended, and the exceptions that came."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.consumer_contract import ConsumerError, Position
from harness.model.contract import OpInvoke
from harness.model.harness_events import MemberCalled
from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.story import TOPIC


@dataclass
class CallStory(GroupStory):
    """Members as in a GroupStory, and the calls of their applications."""

    called_ids: int = 100

    def called(
        self,
        op: str,
        member: str,
        at_ms: float,
        position: tuple[int, int] = (0, -1),
        error: str | None = None,
    ) -> None:
        """The harness asks for a call, about a partition and an offset, and the application makes it."""
        self.called_ids += 1
        if op in ("seek", "pause", "resume"):
            self._add(MemberCalled, member, at_ms, op=op, positions=[Position(TOPIC, *position)])
        self._add(OpInvoke, member, at_ms, op=op, id=self.called_ids)
        self.done(op, member, at_ms, error, self.called_ids)

    def attempted(
        self,
        member: str,
        call: str,
        at_ms: float,
        error: str | None = None,
        ends: bool = True,
        took_ms: float = 0,
    ) -> None:
        """The harness asks for a call that the client should refuse."""
        self._add(MemberCalled, member, at_ms, op="attempt", positions=[], call=call)
        if ends:
            self.done("attempt", member, at_ms + took_ms, error, took_ms=took_ms)

    def raised(self, member: str, at_ms: float, call: str = "poll", error: str = "WakeupException") -> None:
        """The application gets an exception from a call."""
        self._add(ConsumerError, member, at_ms, call=call, error=error)
