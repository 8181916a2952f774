"""Every kind of fault: seen from both sides, on one lane alone, and gone without a trace."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faults.disconnect import FAULT as DISCONNECT
from faults.dropped_response import FAULT as DROPPED_RESPONSE
from faults.latency import FAULT as LATENCY
from faults.refuse import FAULT as REFUSE
from faults.reset import FAULT as RESET
from faults.toxiproxy_errors import ToxicExists
from harness.errors import UsageError
from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.rows import FaultRow, FrameKind
from harness.spec import Elapsed, FaultSpec

HOLD_MS = 600_000
KINDS = [DISCONNECT, DROPPED_RESPONSE, LATENCY, REFUSE, RESET]
PARAMS = {"latency": {"upstream_ms": 5, "downstream_ms": 5}}


def spec(kind: FaultKind, start_ms: int = 0, **params: int) -> FaultSpec:
    return FaultSpec(kind.name, Elapsed(start_ms), 1000, params or PARAMS.get(kind.name, {}))


def lane_of(*paths: Any) -> LiveLane:
    return LiveLane(tuple(path.proxy for path in paths), paths[0].witness, paths[0].lane.cluster, "t")


def on(staged: Any, scenario: Callable[[Any], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        async with staged(**settings) as stage:
            await scenario(stage)

    asyncio.run(main())


def hits(kind: FaultKind, fault: FaultSpec, path: Any, began_ns: int) -> int:
    window = (began_ns, time.monotonic_ns())
    return kind.hits(FaultRow(0, fault, window, window), path.rows)


def test_latency_holds_requests_until_it_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(LATENCY, upstream_ms=HOLD_MS)
        client = await victim.connect()
        assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await LATENCY.start(fault, victim.lane)
        client.ask(2)
        assert await (await neighbour.connect()).round_trip(1)
        assert [row.correlation_id for row in victim.rows if row.kind == "request"] == [1]
        assert hits(LATENCY, fault, victim, began_ns) == 0
        await LATENCY.stop(fault, victim.lane)
        assert await client.answer() == 2
        assert hits(LATENCY, fault, victim, began_ns) == 1
        assert await victim.canary()

    on(staged, scenario)


def test_latency_holds_responses_until_it_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(LATENCY, downstream_ms=HOLD_MS)
        client = await victim.connect()
        began_ns = time.monotonic_ns()
        await LATENCY.start(fault, victim.lane)
        for n in (1, 2, 3):
            client.ask(n)
        await victim.seen(FrameKind.RESPONSE, 3)
        assert await (await neighbour.connect()).round_trip(1)
        reading = asyncio.create_task(client.answer())
        done, _ = await asyncio.wait({reading}, timeout=0)
        assert not done
        await LATENCY.stop(fault, victim.lane)
        assert [await reading, await client.answer(), await client.answer()] == [1, 2, 3]
        assert hits(LATENCY, fault, victim, began_ns) == 3
        assert await victim.canary()

    on(staged, scenario)


def test_latency_on_a_client_that_has_left(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(LATENCY, downstream_ms=HOLD_MS)
        client = await victim.connect()
        await LATENCY.start(fault, victim.lane)
        for n in range(6):  # one after the other, so that each response is held by itself
            client.ask(n)
            await victim.seen(FrameKind.RESPONSE, n + 1)
        client.writer.transport.abort()
        await LATENCY.stop(fault, victim.lane)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


def test_disconnect_ends_live_connections_and_refuses_until_it_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(DISCONNECT)
        clients = [await victim.connect() for _ in range(3)]
        bystander = await neighbour.connect()
        for client in (*clients, bystander):
            assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await DISCONNECT.start(fault, victim.lane)
        assert [await client.reader.read() for client in clients] == [b"", b"", b""]
        assert [await victim.upstream.ends.get() for _ in clients] == ["fin", "fin", "fin"]
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        assert await bystander.round_trip(2)
        await DISCONNECT.stop(fault, victim.lane)
        assert hits(DISCONNECT, fault, victim, began_ns) == 3
        assert hits(DISCONNECT, fault, neighbour, began_ns) == 0
        assert await victim.canary()

    on(staged, scenario)


def test_reset_resets_live_connections_on_both_sides(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(RESET)
        await RESET.prepare(fault, victim.lane)
        clients = [await victim.connect() for _ in range(3)]
        bystander = await neighbour.connect()
        for client in (*clients, bystander):
            assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await RESET.start(fault, victim.lane)
        for client in clients:
            with pytest.raises(ConnectionResetError):
                await client.reader.read()
        assert [await victim.upstream.ends.get() for _ in clients] == ["rst", "rst", "rst"]
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        assert await bystander.round_trip(2)
        await RESET.stop(fault, victim.lane)
        assert hits(RESET, fault, victim, began_ns) == 3
        assert await victim.canary()
        late = await victim.connect()
        assert await late.round_trip(3)
        late.writer.close()
        assert await victim.upstream.ends.get() == "fin"

    on(staged, scenario)


def test_refuse_refuses_until_it_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(REFUSE)
        client = await victim.connect()
        assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await REFUSE.start(fault, victim.lane)
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                await victim.connect()
        assert await (await neighbour.connect()).round_trip(1)
        await victim.seen(FrameKind.CLOSE)
        await REFUSE.stop(fault, victim.lane)
        assert hits(REFUSE, fault, victim, began_ns) == 1
        assert await victim.canary()

    on(staged, scenario)


def test_dropped_responses_never_arrive_and_the_connection_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(DROPPED_RESPONSE)
        old = await victim.connect()
        bystander = await neighbour.connect()
        assert await old.round_trip(1)
        assert await victim.upstream.asked.get() == 1
        began_ns = time.monotonic_ns()
        await DROPPED_RESPONSE.start(fault, victim.lane)
        new = await victim.connect()
        old.ask(2)
        new.ask(3)
        assert {await victim.upstream.asked.get() for _ in range(2)} == {2, 3}
        await victim.seen(FrameKind.RESPONSE, 3)
        assert await bystander.round_trip(2)
        assert victim.upstream.ends.empty()
        await DROPPED_RESPONSE.stop(fault, victim.lane)
        assert [await old.reader.read(), await new.reader.read()] == [b"", b""]
        assert [await victim.upstream.ends.get() for _ in range(2)] == ["fin", "fin"]
        assert hits(DROPPED_RESPONSE, fault, victim, began_ns) == 2
        assert await bystander.round_trip(3)
        assert await victim.canary()

    on(staged, scenario)


def test_connections_with_a_hole_end_whatever_else_is_on_the_proxy(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(DROPPED_RESPONSE)
        client = await victim.connect()
        assert await client.round_trip(1)
        await DROPPED_RESPONSE.start(fault, victim.lane)
        await victim.proxy.add_toxic("slow", "slow_close", "downstream", 1.0, delay=HOLD_MS)
        await DROPPED_RESPONSE.stop(fault, victim.lane)
        assert await client.reader.read() == b""
        await victim.proxy.remove_toxic("slow")
        assert await victim.canary()

    on(staged, scenario, lanes=1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hits_are_none_without_traffic_or_effect(kind: FaultKind, staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(kind)
        assert await (await victim.connect()).round_trip(1)
        assert kind.hits(FaultRow(0, fault, (0, 2**62), None), victim.rows) == 0
        assert hits(kind, fault, victim, time.monotonic_ns()) == 0
        elsewhere = FaultSpec(kind.name, Elapsed(0), 1000, fault.params, brokers=(2,))
        assert kind.hits(FaultRow(0, elsewhere, (0, 2**62), (0, 2**62)), victim.rows) == 0

    on(staged, scenario, lanes=1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_stop_works_after_a_start_that_failed_half_way_and_more_than_once(
    kind: FaultKind, staged: Any
) -> None:
    async def scenario(stage: Any) -> None:
        both = lane_of(*stage.paths)
        fault = spec(kind)
        await kind.prepare(fault, both)
        await kind.start(fault, stage.paths[0].lane)
        await kind.stop(fault, both)
        await kind.stop(fault, both)
        for path in stage.paths:
            assert await path.canary()

    on(staged, scenario)


def test_prepare_without_start_is_undone_by_stop(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(RESET)
        await RESET.prepare(fault, victim.lane)
        live = await victim.connect()
        assert await live.round_trip(1)
        await RESET.stop(fault, victim.lane)
        assert await live.round_trip(2)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


def test_a_start_that_fails_on_one_proxy_reaches_the_others(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        both = lane_of(*stage.paths)
        fault = spec(DROPPED_RESPONSE)
        await DROPPED_RESPONSE.start(fault, stage.paths[0].lane)
        with pytest.raises(ToxicExists):
            await DROPPED_RESPONSE.start(fault, both)
        assert not await stage.paths[1].proxy.pristine()
        await DROPPED_RESPONSE.stop(fault, both)
        for path in stage.paths:
            assert await path.canary()

    on(staged, scenario)


def test_latencies_overlap_and_add_up(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        first, second = spec(LATENCY, 1, downstream_ms=HOLD_MS), spec(LATENCY, 2, downstream_ms=HOLD_MS)
        client = await victim.connect()
        for fault in (first, second):
            await LATENCY.start(fault, victim.lane)
        client.ask(1)
        await victim.seen(FrameKind.RESPONSE)
        await LATENCY.stop(first, victim.lane)
        assert not await victim.proxy.pristine()
        await LATENCY.stop(second, victim.lane)
        assert await client.answer() == 1
        assert await victim.canary()

    on(staged, scenario, lanes=1)


def test_a_short_cut_does_not_end_a_long_refusal(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        long, short = spec(REFUSE), spec(DISCONNECT)
        await REFUSE.start(long, victim.lane)
        await DISCONNECT.start(short, victim.lane)
        await DISCONNECT.stop(short, victim.lane)
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        await REFUSE.stop(long, victim.lane)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


@pytest.mark.parametrize("latency_first", [True, False])
@pytest.mark.parametrize("latency_ends_first", [True, False])
def test_latency_and_dropped_responses_overlap(
    latency_first: bool, latency_ends_first: bool, staged: Any
) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        both = [(LATENCY, spec(LATENCY)), (DROPPED_RESPONSE, spec(DROPPED_RESPONSE))]
        client = await victim.connect()
        for kind, fault in both if latency_first else reversed(both):
            await kind.start(fault, victim.lane)
        client.ask(1)
        await victim.seen(FrameKind.RESPONSE)
        for kind, fault in both if latency_ends_first else reversed(both):
            await kind.stop(fault, victim.lane)
        assert await client.reader.read() == b""
        assert await victim.canary()

    on(staged, scenario, lanes=1)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "needs upstream_ms or downstream_ms above 0"),
        ({"upstream": 5}, "did you mean 'upstream_ms'"),
        ({"upstream_ms": -1}, "must be 0 to 600000, not -1"),
    ],
)
def test_parameters_are_checked_before_anything_runs(params: dict[str, int], said: str) -> None:
    fault = FaultSpec("latency", Elapsed(0), 1000, params)
    with pytest.raises(UsageError, match=said):
        asyncio.run(LATENCY.prepare(fault, LiveLane((), None, None, "t")))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_page_of_a_kind_has_its_sections(kind: FaultKind) -> None:
    page = sys.modules[type(kind).__module__].__doc__ or ""
    sections = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert sections == [
        "What it does",
        "What it probes",
        "How it is made",
        "Where it is seen",
        "What it cannot do",
    ]
