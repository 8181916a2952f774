"""Faults that slow or hold traffic: seen from both sides, on one lane, without a loss."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.rows import FrameKind

pytestmark = pytest.mark.long("real sockets, and faults that take their time")

HOLD_MS = 600_000


@pytest.mark.control(
    "latency",
    client="upstream: no response arrives until the fault ends",
    broker="the request does not arrive until the fault ends",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_latency_holds_requests_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("latency", upstream_ms=HOLD_MS, hits=1, elsewhere=None) as fault:
            client = await victim.served()
            await fault.start()
            client.ask(2)
            answer = await neighbour.served_before(client.answer())
            assert victim.upstream.arrived() == [1]
            assert fault.hits(victim) == 0
            await fault.stop()
            assert await answer == 2
            assert victim.upstream.arrived() == [2]

    on_stage(scenario)


@pytest.mark.control(
    "latency",
    client="downstream: no response arrives until the fault ends, then all do, in order",
    broker="every request arrives at once",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_latency_holds_responses_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("latency", downstream_ms=HOLD_MS, hits=3, elsewhere=None) as fault:
            client = await victim.connect()
            await fault.start()
            for n in (1, 2, 3):
                client.ask(n)
            await victim.seen(FrameKind.RESPONSE, 3)
            assert victim.upstream.arrived() == [1, 2, 3]
            answer = await neighbour.served_before(client.answer())
            await fault.stop()
            assert [await answer, await client.answer(), await client.answer()] == [1, 2, 3]

    on_stage(scenario)


def test_latency_delivers_requests_of_a_disconnected_client(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("latency", downstream_ms=HOLD_MS)
        client = await victim.connect()
        await fault.start()
        for n in range(6):  # sequential, so that each response is held separately
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
@pytest.mark.control(
    "bandwidth",
    client="of 400 responses some are missing until the fault ends, then all arrive, in order",
    broker=(
        "of 400 requests some are missing until the fault ends (slow upstream), or all arrive at once "
        "(slow downstream)"
    ),
    untouched=(
        "neighbour lane: the same 400 responses all arrive; an open connection and new ones, "
        "during the fault and afterwards"
    ),
)
def test_bandwidth_slows_one_direction_until_it_ends(on_stage: Any, stream: str) -> None:
    """A hundred frames take seconds at this rate. When the fault ends, all of them arrive at once."""

    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        rate = {f"{stream}_bytes_per_s": 1_000}
        async with victim.under("bandwidth", hits=400, elsewhere=None, **rate) as fault:
            client, same = await victim.served(0), await neighbour.served(0)
            await fault.start()
            for n in range(1, 401):
                client.ask(n)
                same.ask(n)

            async def all_answered(by: Any) -> list[int]:
                return [await by.answer() for _ in range(400)]

            answers = await neighbour.served_before(all_answered(client))
            assert await all_answered(same) == list(range(1, 401))
            assert not answers.done()
            if stream == "downstream":
                await victim.seen(FrameKind.RESPONSE, 401)
                assert not answers.done()
            early = victim.upstream.arrived()
            assert (len(early) < 401) == (stream == "upstream")
            await fault.stop()
            assert await answers == list(range(1, 401))
            assert early + victim.upstream.arrived() == list(range(401))

    on_stage(scenario)


@pytest.mark.control(
    "slicer",
    client="no response arrives until the fault ends",
    broker="one byte of the request arrives; the whole request only when the fault ends",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_upstream_slices_arrive_one_after_another(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        slices = {"size_bytes": 1, "delay_us": 60_000_000}
        async with victim.under("slicer", hits=2, elsewhere=None, **slices) as fault:
            client = await victim.connect()
            await fault.start()
            client.ask(1)
            assert await victim.upstream.firsts_bytes.get() == 1
            answer = await neighbour.served_before(client.answer())
            assert not victim.upstream.arrived()
            await fault.stop()
            assert await answer == 1
            assert victim.upstream.arrived() == [1]

    on_stage(scenario)


@pytest.mark.control(
    "slicer",
    client="one of ten bytes arrives; the others only when the fault ends",
    broker="it wrote all ten at once, and its connection stays open",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_downstream_slices_arrive_one_after_another(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        slices = {"size_bytes": 1, "delay_us": 60_000_000}
        async with victim.under("slicer", hits=0, elsewhere=None, **slices) as fault:  # every frame is sliced
            client = await victim.served()
            await fault.start()
            (writer,) = victim.upstream.writers
            writer.write(b"0123456789")
            assert await client.reader.read(100) == b"0"
            rest = await neighbour.served_before(client.reader.readexactly(9))
            assert victim.upstream.ends.empty()
            await fault.stop()
            assert await rest == b"123456789"

    on_stage(scenario)


@pytest.mark.control(
    "late_response",
    client="no response arrives until the fault ends, then all do, in order",
    broker="every request arrives at once",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_late_responses_arrive_when_the_fault_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("late_response", hits=3, elsewhere=None) as fault:
            client = await victim.served(0)
            await fault.start()
            for n in (1, 2, 3):
                client.ask(n)
            await victim.seen(FrameKind.RESPONSE, 4)
            assert victim.upstream.arrived() == [0, 1, 2, 3]
            first = await neighbour.served_before(client.answer())
            await fault.stop()
            assert [await first, await client.answer(), await client.answer()] == [1, 2, 3]
        assert await client.round_trip(4)

    on_stage(scenario)
