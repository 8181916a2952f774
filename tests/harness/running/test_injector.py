"""When a fault ends that takes long to begin, or to end, and what an interruption leaves behind."""

from __future__ import annotations

import asyncio
import gc
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


@pytest.fixture(autouse=True)
def lane_as_set(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_set(self: LiveLane) -> None:
        return

    monkeypatch.setattr(LiveLane, "assert_as_set", as_set)


def injector_of(members: SlowMembers) -> Injector:
    injector = Injector([SPEC], LiveLane((), None, None, "t", 1, members))  # type: ignore[arg-type]
    injector.load_began(time.monotonic_ns())
    return injector


def test_the_duration_of_a_join_counts_from_the_join() -> None:
    members = SlowMembers()

    async def run() -> Injector:
        injector = injector_of(members)
        await injector.run()
        return injector

    [row] = asyncio.run(run()).rows
    assert row.requested_ns is not None
    assert members.joined_ns + DURATION_MS * NS_PER_MS <= row.requested_ns[1] <= members.left_ns


class BrokenMembers(SlowMembers):
    """A group whose member ends in its own way when it is asked to leave, after it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.told = asyncio.Event(), asyncio.Event()

    async def leave(self, process: str, timeout_ms: int) -> None:
        self.asked.set()
        await self.told.wait()
        self.left_ns = time.monotonic_ns()
        raise OSError("it ended by itself")


def test_a_second_interruption_waits_for_the_end_of_a_fault_and_hears_of_its_error() -> None:
    unheard: list[dict[str, object]] = []

    async def run() -> BrokenMembers:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        members = BrokenMembers()
        running = asyncio.create_task(injector_of(members).run())
        await members.asked.wait()
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        members.told.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        return members

    assert asyncio.run(run()).left_ns
    gc.collect()
    assert unheard == []
