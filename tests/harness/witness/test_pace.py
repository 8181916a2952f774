"""A fast sender does not block the event loop, and its bytes arrive unchanged."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from harness.model.rows import Frame, FrameKind
from harness.witness import WitnessLane
from harness.witness.pace import TURN_NS, Pace

Play = Callable[[Callable[[Any], Coroutine[Any, Any, None]], Callable[[], WitnessLane]], None]
#: ApiVersions 0, the smallest possible request.
SMALLEST = b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff"


def hurried() -> WitnessLane:
    """Return a lane whose turns have no time and take small pieces."""
    return WitnessLane(0, pace=Pace(0, range(10 * len(SMALLEST), 10 * len(SMALLEST) + 1)))


def test_one_turn_of_the_loop_reads_a_limited_number_of_frames(play: Play) -> None:
    requests, turn, rows = 2_000, 0, Counter[int]()

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def saw(row: Frame) -> None:
        rows[turn] += row.kind is FrameKind.REQUEST

    async def scenario(ends: Any) -> None:
        ends.lane.watch(saw)
        turning = asyncio.create_task(count_turns())
        ends.client_out.write(SMALLEST * requests)
        assert await ends.broker_in.readexactly(len(SMALLEST) * requests)
        turning.cancel()

    play(scenario, hurried)
    assert rows.total() == requests and max(rows.values()) <= 10


@pytest.mark.parametrize("pieces", [1, 1.5, 200])
def test_waiting_bytes_arrive_unchanged_before_the_end(play: Play, pieces: float) -> None:
    data = bytes(range(251)) * 140
    data = data[: int(pieces * 140)]

    async def scenario(ends: Any) -> None:
        ends.client_out.write(data)
        ends.client_out.write_eof()
        ends.broker_out.write(data)
        assert await ends.broker_in.read() == data
        ends.broker_out.write_eof()
        assert await ends.client_in.read() == data
        assert ends.lane.failure is None

    play(scenario, hurried)


def test_waiting_bytes_are_dropped_when_the_lane_is_emptied(play: Play) -> None:
    async def scenario(ends: Any) -> None:
        ends.client_out.write(SMALLEST * 10_000)
        await ends.rows_until(FrameKind.REQUEST)
        await ends.lane.empty()
        assert ends.lane.open_connections == 0 and ends.lane.failure is None

    play(scenario, hurried)


def test_waiting_connections_take_turns() -> None:
    async def scenario() -> list[str]:
        turns, taken = Pace(), list[str]()

        def takes(name: str, times: int) -> None:
            taken.append(name)
            if times > 1:
                turns.wait(lambda: takes(name, times - 1))

        assert turns.has_time()
        turns.wait(lambda: takes("a", 3))
        assert not turns.has_time()
        turns.wait(lambda: takes("b", 2))
        for _ in range(5):
            await asyncio.sleep(0)
        assert turns.has_time()
        return taken

    assert asyncio.run(scenario()) == ["a", "b", "a", "b", "a"]


def test_the_time_of_a_turn_is_limited() -> None:
    async def scenario() -> None:
        now_ns, turns = 5, Pace(now_ns=lambda: now_ns)
        assert turns.has_time()
        now_ns += TURN_NS
        assert not turns.has_time()
        await asyncio.sleep(0)
        assert turns.has_time()

    asyncio.run(scenario())


def test_pieces_grow_while_they_are_fast_and_then_start_small_again() -> None:
    sizes, now_ns, step_ns = list[int](), 0, 0

    def take(piece: bytes) -> None:
        nonlocal now_ns
        sizes.append(len(piece))
        now_ns += step_ns

    turns, data = Pace(now_ns=lambda: now_ns), bytes(2**20)
    for _ in range(5):
        turns.take(data, take)
    step_ns = TURN_NS // 2
    for _ in range(2):
        turns.take(data, take)
    step_ns = 0
    assert turns.take(b"little", take) == b""
    turns.take(data, take)
    assert sizes == [2**15, 2**16, 2**17, 2**18, 2**18, 2**18, 2**15, 6, 2**15]
