"""One Toxiproxy under many faults: it survives them, and a failure is detected, named, and followed by a restart."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.soak import Client, Stand, mix, soak, stand, works_on_proxies
from faults.toxiproxy_errors import ControlPlaneWedged
from harness.model.mode import Mode
from harness.model.spec import AtTime, FaultSpec
from harness.plugins import registry
from harness.plugins.fault import LiveLane
from testkit.codes import raises_code

#: Several of the chunks in which Toxiproxy reads.
LOTS_BYTES = 100_000
ALWAYS_MS = 600_000
TRIES = 3
SLOW = {
    "latency": {"upstream_ms": ALWAYS_MS, "downstream_ms": ALWAYS_MS},
    "bandwidth": {"upstream_bytes_per_s": 1_000, "downstream_bytes_per_s": 1_000},
    "slicer": {"size_bytes": 1, "delay_us": 60_000_000},
    "half_open": {},
    "dropped_response": {},
}


def on(folder: Path, scenario: Callable[[Stand], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(120), stand(folder, **settings) as it:
            await scenario(it)

    asyncio.run(main())


def lane_of(it: Stand) -> LiveLane:
    return LiveLane((it.proxies[0],), None, None, "t")  # type: ignore[arg-type]


@pytest.mark.long("real sockets, and faults that take their time")
def test_server_is_clean_after_sixty_cycles_of_mixed_faults(tmp_path: Path) -> None:
    async def scenario(it: Stand) -> None:
        soaked = await soak(it, cycles=60, seed=7)
        assert not soaked.wedged and not soaked.neighbour_lost
        assert soaked.cycles == 60 and len(soaked.kinds) > 10
        assert await it.server.alive()

    on(tmp_path, scenario)


def test_mix_has_every_proxy_kind_with_valid_parameters() -> None:
    kinds = {name for name, kind in registry.table("faults").items() if works_on_proxies(kind)}
    assert {kind for kind, _ in mix()} == kinds
    for number, (kind, params) in enumerate(mix()):
        registry.fault(kind).check(FaultSpec(kind, AtTime(number), 20, params), Mode.LIVE)


@pytest.mark.long("real sockets, and faults that take their time")
@pytest.mark.parametrize("first", sorted(SLOW))
@pytest.mark.parametrize("second", sorted(SLOW))
@pytest.mark.parametrize("leaves", [True, False])
def test_server_survives_whichever_fault_ends_first(
    tmp_path: Path, first: str, second: str, leaves: bool
) -> None:
    """Two faults hold bytes in sequence, and the downstream one is removed first.

    On a machine that stalls for seconds the server may still deadlock, through its own race. The next test covers the
    detection of that. Without the harness's order of changes the server deadlocks or dies in twenty of these fifty
    cases.
    """

    async def scenario(it: Stand) -> None:
        lane, client = lane_of(it), await Client.connect(it.proxies[0])
        client.talk(LOTS_BYTES)
        faults = [FaultSpec(kind, AtTime(n), 0, SLOW[kind]) for n, kind in enumerate((first, second))]
        for fault in faults:
            await registry.fault(fault.kind).inject_live(fault, lane)
            client.talk(LOTS_BYTES)
        if leaves:
            client.leave()
        for fault in faults:
            await registry.fault(fault.kind).heal_live(fault, lane)
        await registry.fault(first).inject_live(faults[0], lane)
        await registry.fault(first).heal_live(faults[0], lane)
        assert await it.is_as_new(0) and await it.server.alive()
        await client.forget()

    for _ in range(TRIES - 1):
        with suppress(ControlPlaneWedged):
            on(tmp_path, scenario)
            return
    on(tmp_path, scenario)


@pytest.mark.long("real sockets, and faults that take their time")
def test_unresponsive_server_is_detected_named_and_replaced(tmp_path: Path) -> None:
    async def scenario(it: Stand) -> None:
        latency = registry.fault("latency")
        fault = FaultSpec("latency", AtTime(0), 0, {"upstream_ms": 1})
        (process,) = (p for p in psutil.Process().children() if p.name() == "toxiproxy-server")
        process.suspend()
        await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED)
        with raises_code(ControlPlaneWedged, "toxiproxy-silent"):
            await latency.inject_live(fault, lane_of(it))
        assert not await it.server.alive()
        ports = [proxy.address.advertised for proxy in it.proxies]
        await it.renew()
        assert not process.is_running()
        assert await it.server.alive() and [proxy.address.advertised for proxy in it.proxies] == ports
        await latency.inject_live(fault, lane_of(it))
        await latency.heal_live(fault, lane_of(it))
        assert await it.is_as_new(0) and await it.is_as_new(1)

    on(tmp_path, scenario, timeout_s=0.5)


@pytest.mark.long("real sockets, and faults that take their time")
def test_soak_continues_with_a_new_server(tmp_path: Path) -> None:
    async def scenario(it: Stand) -> None:
        (process,) = (p for p in psutil.Process().children() if p.name() == "toxiproxy-server")
        process.suspend()
        soaked = await soak(it, cycles=3, seed=1)
        assert soaked.cycles == 3 and len(soaked.wedged) == 1 and soaked.wedged[0].startswith("cycle 0, ")
        assert "does not even report its version" in soaked.wedged[0]
        assert await it.is_as_new(0)

    on(tmp_path, scenario, timeout_s=0.5)
