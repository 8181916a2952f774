"""Properties of every kind of fault. ``each_kind`` covers those that work on proxies in live mode."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks.soak import works_on_proxies
from faults.frame_fault import FrameFault
from faults.toxiproxy_errors import ToxicExists
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import FaultRow
from harness.model.spec import AtTime, FaultSpec, FrameMatch
from harness.plugins import registry
from testkit.codes import coded, raises_code

pytestmark = pytest.mark.long("real sockets, and faults that take their time")


each_kind = pytest.mark.parametrize(
    "name", [name for name, kind in registry.table("faults").items() if works_on_proxies(kind)]
)


@each_kind
def test_no_hits_without_traffic_or_effect(name: str, on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        assert await (await victim.connect()).round_trip(1)
        fault = victim.fault(name)
        assert fault.hits(victim) == 0
        assert fault.kind.hits(FaultRow(0, fault.spec, (0, 2**62), None), victim.rows) == 0
        elsewhere = FaultSpec(name, AtTime(0), 1_000, fault.spec.params, brokers=(2,))
        assert fault.kind.hits(FaultRow(0, elsewhere, (0, 2**62), (0, 2**62)), victim.rows) == 0

    on_stage(scenario, lanes=1)


@each_kind
def test_stop_works_after_a_failed_start_and_twice(name: str, on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        on_one, on_both = stage.paths[0].fault(name), stage.fault(name)
        await on_both.prepare()
        await on_one.start()
        await on_both.stop()
        await on_both.stop()
        for path in stage.paths:
            assert await path.canary()

    on_stage(scenario)


@each_kind
def test_ending_leaves_an_overlapping_fault_in_effect(name: str, on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault, beside = victim.fault(name), victim.fault("latency", upstream_ms=1, downstream_ms=1)
        client = await victim.connect()
        assert await client.round_trip(1)
        await fault.start()
        await beside.start()
        client.ask(2)
        await fault.stop()
        assert not await victim.proxy.pristine()
        assert await (await victim.connect()).round_trip(3)
        await beside.stop()
        assert await victim.canary()

    on_stage(scenario, lanes=1)


def test_failed_start_on_one_proxy_still_reaches_the_others(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        on_one, on_both = stage.paths[0].fault("dropped_response"), stage.fault("dropped_response")
        await on_one.start()
        with pytest.raises(ToxicExists):
            await on_both.start()
        assert not await stage.paths[1].proxy.pristine()
        await on_both.stop()
        for path in stage.paths:
            assert await path.canary()

    on_stage(scenario)


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("latency", {}, "fault-does-nothing"),
        ("latency", {"upstream": 5}, coded("unknown-name", suggestion="upstream_ms")),
        ("latency", {"upstream_ms": -1}, coded("fault-param-range", low=0, high=600000, value=-1)),
        ("bandwidth", {}, "fault-does-nothing"),
        ("bandwidth", {"upstream_bytes_per_s": 1_500}, coded("bandwidth-not-whole-thousands", rate=1500)),
        ("slicer", {"size_bytes": 0}, coded("fault-param-range", low=1, high=1048576, value=0)),
        ("half_open", {"unaware_broker": 2}, coded("fault-param-range", low=0, high=1, value=2)),
        ("partition", {"upstream": 0, "downstream": 0}, "fault-does-nothing"),
        ("partition", {"loud": 1, "downstream": 0}, "partition-loud-one-way"),
        ("idle_kill", {"idle_ms": 0}, coded("fault-param-range", low=1, high=600000, value=0)),
        ("torn_frame", {"at_bytes": 1}, coded("unknown-name", suggestion="at_byte")),
        ("late_response", {"delay_ms": 1}, "unknown-name"),
    ],
)
def test_parameters_are_checked_before_a_run(name: str, params: dict[str, int], said: str) -> None:
    fault = FaultSpec(name, AtTime(0), 1_000, params)
    with raises_code(UsageError, said):
        registry.fault(name).check(fault, Mode.LIVE)


@pytest.mark.parametrize(
    "name", [name for name, kind in registry.table("faults").items() if not isinstance(kind, FrameFault)]
)
def test_kinds_that_ignore_frames_refuse_them(name: str) -> None:
    kind = registry.fault(name)
    fault = FaultSpec(name, AtTime(0), 1_000, frames=FrameMatch("Produce"))
    for mode in kind.modes:
        with raises_code(UsageError, "frames-not-taken"):
            kind.check(fault, mode)


@pytest.mark.parametrize("name", registry.names("faults"))
def test_page_of_a_kind_has_its_sections(name: str) -> None:
    kind = registry.fault(name)
    page = sys.modules[type(kind).__module__]
    sections = [
        line.removeprefix("## ") for line in (page.__doc__ or "").splitlines() if line.startswith("## ")
    ]
    assert sections == [
        "What it does",
        "What it probes",
        "How it is made",
        "Where it is seen",
        "What it cannot do",
    ]
    assert kind.name == name and kind is page.FAULT
