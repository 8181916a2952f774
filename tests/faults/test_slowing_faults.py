"""Faults that slow what passes or hold it back: seen from both sides, on one lane alone, and nothing is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.rows import FrameKind

HOLD_MS = 600_000


def test_latency_holds_requests_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("latency", upstream_ms=HOLD_MS)
        client = await victim.connect()
        assert await client.round_trip(1)
        await fault.start()
        client.ask(2)
        assert await (await neighbour.connect()).round_trip(1)
        assert victim.requested == [1]
        assert fault.hits(victim) == 0
        await fault.stop()
        assert await client.answer() == 2
        assert fault.hits(victim) == 1
        assert await victim.canary()

    on_stage(scenario)


def test_latency_holds_responses_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("latency", downstream_ms=HOLD_MS)
        client = await victim.connect()
        await fault.start()
        for n in (1, 2, 3):
            client.ask(n)
        await victim.seen(FrameKind.RESPONSE, 3)
        assert await (await neighbour.connect()).round_trip(1)
        reading = asyncio.create_task(client.answer())
        done, _ = await asyncio.wait({reading}, timeout=0)
        assert not done
        await fault.stop()
        assert [await reading, await client.answer(), await client.answer()] == [1, 2, 3]
        assert fault.hits(victim) == 3
        assert await victim.canary()

    on_stage(scenario)


def test_latency_on_a_client_that_has_left(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("latency", downstream_ms=HOLD_MS)
        client = await victim.connect()
        await fault.start()
        for n in range(6):  # one after the other, so that each response is held by itself
            client.ask(n)
            await victim.seen(FrameKind.RESPONSE, n + 1)
        client.writer.transport.abort()
        await fault.stop()
        assert await victim.canary()

    on_stage(scenario, lanes=1)


def test_latencies_overlap_and_add_up(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        first, second = (victim.fault("latency", start_ms=n, downstream_ms=HOLD_MS) for n in (1, 2))
        client = await victim.connect()
        for fault in (first, second):
            await fault.start()
        client.ask(1)
        await victim.seen(FrameKind.RESPONSE)
        await first.stop()
        assert not await victim.proxy.pristine()
        await second.stop()
        assert await client.answer() == 1
        assert await victim.canary()

    on_stage(scenario, lanes=1)


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_bandwidth_slows_one_direction_until_it_ends(on_stage: Any, stream: str) -> None:
    """A hundred frames at their slowest take seconds; at the end all of them are there at once."""

    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("bandwidth", **{f"{stream}_bytes_per_s": 1_000})
        client = await victim.connect()
        assert await client.round_trip(0)
        await fault.start()
        for n in range(1, 401):
            client.ask(n)

        async def all_answered() -> list[int]:
            return [await client.answer() for _ in range(400)]

        answers = await neighbour.served_before(all_answered())
        if stream == "downstream":
            await victim.seen(FrameKind.RESPONSE, 401)
            assert not answers.done()
        else:
            assert len(victim.requested) < 401
        await fault.stop()
        assert await answers == list(range(1, 401))
        assert fault.hits(victim) == 400
        assert fault.hits(neighbour) == 1
        assert await victim.canary()

    on_stage(scenario)


def test_slices_go_one_after_the_other_upstream(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("slicer", size_bytes=1, delay_us=60_000_000)
        client = await victim.connect()
        await fault.start()
        client.ask(1)
        await victim.passed_upstream(1)
        answer = await neighbour.served_before(client.answer())
        assert not victim.requested
        await fault.stop()
        assert await answer == 1
        assert fault.hits(victim) == 2
        assert await victim.canary()

    on_stage(scenario)


def test_slices_go_one_after_the_other_downstream(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("slicer", size_bytes=1, delay_us=60_000_000)
        client = await victim.connect()
        assert await client.round_trip(1)
        await fault.start()
        (writer,) = victim.upstream.writers
        writer.write(b"0123456789")
        assert await client.reader.read(100) == b"0"
        rest = await neighbour.served_before(client.reader.readexactly(9))
        await fault.stop()
        assert await rest == b"123456789"
        assert await victim.canary()

    on_stage(scenario)


def test_late_responses_arrive_when_the_gate_opens(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = victim.fault("late_response")
        client = await victim.connect()
        assert await client.round_trip(0)
        await fault.start()
        for n in (1, 2, 3):
            client.ask(n)
        await victim.seen(FrameKind.RESPONSE, 4)
        first = await neighbour.served_before(client.answer())
        await fault.stop()
        assert [await first, await client.answer(), await client.answer()] == [1, 2, 3]
        assert fault.hits(victim) == 3
        assert await client.round_trip(4) and await victim.canary()

    on_stage(scenario)
