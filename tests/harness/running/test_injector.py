"""When a fault ends that takes long to begin."""

from __future__ import annotations

import asyncio
import time

import pytest

from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import LiveLane
from harness.running.injector import NS_PER_MS, Injector

DURATION_MS = 20
SPEC = FaultSpec("member_join", AtTime(0), DURATION_MS)


class SlowMembers:
    """A group whose next member has joined only when the fault would have ended."""

    processes: tuple[str, ...] = ("m1",)

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.joined_ns = self.left_ns = 0

    async def join(self, place: str = "") -> str:
        due_ns = time.monotonic_ns() + DURATION_MS * NS_PER_MS
        while time.monotonic_ns() < due_ns:  # noqa: ASYNC110 the clock itself is awaited
            await asyncio.sleep(0)
        self.joined_ns = time.monotonic_ns()
        self.processes = ("m1", "m2")
        return "m2"

    async def leave(self, process: str, timeout_ms: int) -> None:
        self.left_ns = time.monotonic_ns()


def test_the_duration_of_a_join_counts_from_the_join(monkeypatch: pytest.MonkeyPatch) -> None:
    members = SlowMembers()

    async def as_set(self: LiveLane) -> None:
        return

    monkeypatch.setattr(LiveLane, "assert_as_set", as_set)

    async def run() -> Injector:
        lane = LiveLane((), None, None, "t", 1, members)  # type: ignore[arg-type]
        injector = Injector([SPEC], lane)
        injector.load_began(time.monotonic_ns())
        await injector.run()
        return injector

    [row] = asyncio.run(run()).rows
    assert row.requested_ns is not None
    assert members.joined_ns + DURATION_MS * NS_PER_MS <= row.requested_ns[1] <= members.left_ns
