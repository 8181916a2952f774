"""Faults on single frames: the frame that is meant and no other, on its lane alone, seen from both sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from harness.errors import UsageError
from harness.registry import fault as fault_kind
from harness.rows import FrameKind
from harness.spec import Elapsed, FaultSpec, FrameMatch

API = "ApiVersions"


@pytest.fixture
def on_lane(on_stage: Any) -> Callable[..., None]:
    """``on_lane(scenario)`` plays a scenario on one lane; its neighbour notices nothing of it."""

    def play(scenario: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        async def beside_a_neighbour(stage: Any) -> None:
            victim, neighbour = stage.paths
            await scenario(victim)
            assert await (await neighbour.connect()).round_trip(1)
            assert not any(row.fault for row in neighbour.rows)

        on_stage(beside_a_neighbour)

    return play


@asynccontextmanager
async def under(
    path: Any, kind: str, match: FrameMatch | None = None, *, hits: int, **params: int
) -> AsyncIterator[None]:
    """The fault in effect; afterwards it has hit so many frames, and the lane is as new."""
    fault = path.fault(kind, match or FrameMatch(API), **params)
    await fault.prepare()
    await fault.start()
    yield
    await fault.stop()
    await fault.stop()
    assert await path.canary()
    assert fault.hits(path) == hits


async def at_end(client: Any) -> bytes:
    return await client.reader.read()


def test_just_the_third_response_is_missing(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "dropped_frame", FrameMatch(API, first=3), hits=1):
            for n in range(1, 6):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 2, 4, 5]
        assert [row.correlation_id for row in victim.rows if row.fate == "stopped"] == [3]

    on_lane(scenario)


def test_a_dropped_request_never_arrives(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "dropped_frame", FrameMatch(API, "request", first=2), hits=1):
            for n in range(1, 4):
                client.ask(n)
            assert [await client.answer() for _ in range(2)] == [1, 3]
            assert [victim.upstream.asked.get_nowait() for _ in range(2)] == [1, 3]

    on_lane(scenario)


@pytest.mark.parametrize(("end", "how"), [(1, "fin"), (2, "rst")])
def test_a_frame_takes_its_connection_along_and_no_other(on_lane: Any, end: int, how: str) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        assert await beside.round_trip(7)
        async with under(victim, "dropped_frame", FrameMatch(API, first=1), end=end, hits=1):
            client.ask(1)
            assert await at_end(client) == b""  # Toxiproxy passes an RST on as FIN
            assert await victim.upstream.ends.get() == how
            assert await beside.round_trip(8)

    on_lane(scenario)


@pytest.mark.parametrize("at_byte", [0, 2, 4, 6, 1_000])
def test_a_frame_breaks_off_at_a_byte(on_lane: Any, at_byte: int) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        size = victim.response_bytes
        async with under(victim, "closed_at_frame", FrameMatch(API, first=2), at_byte=at_byte, hits=1):
            assert await client.round_trip(1)
            client.ask(2)
            assert len(await at_end(client)) == min(at_byte, size - 1)

    on_lane(scenario)


def test_a_connection_ends_behind_a_whole_frame(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "closed_at_frame", hits=1):
            assert await client.round_trip(1)
            assert await at_end(client) == b""
        assert [row.closed_by for row in victim.rows if row.kind is FrameKind.CLOSE][:1] == [None]

    on_lane(scenario)


def test_a_late_frame_keeps_those_behind_it(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        assert await client.round_trip(1) and await beside.round_trip(1)
        async with under(victim, "late_frame", delay_ms=300, hits=1):
            asked_ns = time.monotonic_ns()
            client.ask(2)
            client.ask(3)
            assert await client.answer() == 2
            assert time.monotonic_ns() - asked_ns >= 300_000_000
            assert await client.answer() == 3
            assert await beside.round_trip(4)
        [late] = [row for row in victim.rows if row.fate == "late"]
        assert late.t_ns - asked_ns >= 300_000_000

    on_lane(scenario)


def test_a_held_response_goes_on_when_the_fault_ends(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        async with under(victim, "held_frame", hits=1):
            client.ask(1)
            assert await victim.upstream.asked.get() == 1
            assert await beside.round_trip(5)
            assert not client.reader._buffer
        assert await client.answer() == 1

    on_lane(scenario)


def test_a_ghost_request_arrives_when_its_client_has_left(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "held_frame", FrameMatch(API, "request"), hits=1):
            client.ask(1)
            client.writer.close()
            await victim.seen(FrameKind.CLOSE)
            assert victim.upstream.asked.empty()
        assert await victim.upstream.asked.get() == 1
        assert await victim.upstream.ends.get() == "fin"

    on_lane(scenario)


@pytest.mark.parametrize("direction", ["request", "response"])
def test_slices_arrive_as_the_frame_they_were(on_lane: Any, direction: str) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "sliced_frame", FrameMatch(API, direction, count=2), hits=2):
            for n in (1, 2, 3):
                client.ask(n)
            assert [await client.answer() for _ in range(3)] == [1, 2, 3]

    on_lane(scenario)


def test_two_responses_change_places(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "swapped_responses", FrameMatch(API, first=2), hits=1):
            for n in range(1, 5):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 3, 2, 4]
        told = [row.correlation_id for row in victim.rows if row.kind is FrameKind.RESPONSE]
        assert told[:4] == [1, 3, 2, 4]

    on_lane(scenario)


def test_a_response_comes_twice(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "duplicated_response", FrameMatch(API, first=2), hits=1):
            for n in range(1, 4):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 2, 2, 3]

    on_lane(scenario)


def test_a_response_to_nobody(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "wrong_correlation_id", hits=1):
            client.ask(1)
            client.ask(2)
            assert [await client.answer() for _ in range(2)] == [1 ^ 0x7FFF_FFFF, 2]

    on_lane(scenario)


def test_a_rule_may_come_in_the_middle_of_a_frame(on_lane: Any) -> None:
    """The frame that has begun passes; the next is the first that counts."""

    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        assert await client.round_trip(1)
        whole = victim.request_of(2)
        client.writer.write(whole[:7])
        await victim.passed_upstream(7)
        async with under(victim, "dropped_frame", FrameMatch(API, "request"), hits=1):
            client.writer.write(whole[7:])
            client.ask(3)
            client.ask(4)
            assert [await client.answer() for _ in range(2)] == [2, 4]

    on_lane(scenario)


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (None, "needs to know which frames"),
        (FrameMatch("Produces"), "there is no API 'Produces'"),
        (FrameMatch("Produce", "request"), "acts on a response, not on a 'request'"),
        (FrameMatch("Produce", first=0), "at least 1"),
    ],
)
def test_which_frames_is_checked_before_anything_runs(match: FrameMatch | None, said: str) -> None:
    fault = FaultSpec("wrong_correlation_id", Elapsed(0), 1, frames=match)
    with pytest.raises(UsageError, match=said):
        asyncio.run(fault_kind(fault.kind).prepare(fault, None))  # type: ignore[arg-type]
