"""Invalid schedules are refused with one error that names the fault, the value and the limit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.spec import (
    AtTime,
    ClientRef,
    FaultSpec,
    FrameMatch,
    OnClientEvent,
    OnFrame,
    OnPhase,
    TrialSpec,
    Trigger,
    Workload,
)
from harness.model.verdicts import Guarantee
from harness.planning import validate_faults
from testkit.codes import coded, raises_code

CLIENT = ClientRef("reference", "0")
THREE, ONE = "scripted:4.3.1x3", "scripted:4.3.1x1"
#: 100 records, 20 of them before the load, which lasts 5,000 ms.
LOAD = Workload(records=100, records_per_command=20, interval_ms=1_000, partitions=2)
STARTUP, LOADED = OnPhase("startup"), OnPhase("load")


def check(*faults: FaultSpec, broker: str = THREE) -> None:
    spec = TrialSpec(
        "t", CLIENT, broker, "generated/any", Guarantee.IDEMPOTENT, 1, LOAD, faults, {}
    )  # fmt: skip
    validate_faults.check([spec], Mode.SIMULATED)


def refuse(start: Trigger, duration_ms: int = 500, **more: Any) -> FaultSpec:
    return FaultSpec("refuse", start, duration_ms, **more)


def drop(direction: str = "response", api: str = "Produce", **more: Any) -> FaultSpec:
    return FaultSpec("dropped_frame", AtTime(0), 500, frames=FrameMatch(api, direction, **more))


def said_of(api: int, kind: str = "throttle") -> FaultSpec:
    return FaultSpec(kind, AtTime(0), 500, {"api": api})


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (refuse(AtTime(5_000)), coded("fault-starts-after-load", earliest_ms=5000, load_ms=5000)),
        (
            refuse(OnFrame("Produce", after_ms=6_000)),
            coded("fault-starts-after-load", earliest_ms=6000, load_ms=5000),
        ),
        (
            refuse(OnClientEvent(after_ms=6_000)),
            coded("fault-starts-after-load", earliest_ms=6000, load_ms=5000),
        ),
        (refuse(OnClientEvent(nth=1_000_000)), coded("fault-record-beyond-load", nth=1000000, records=80)),
        (
            refuse(OnClientEvent("invoke", nth=81)),
            coded("fault-record-beyond-load", nth=81, records=80),
        ),
        (refuse(AtTime(0), until=OnClientEvent(nth=81)), coded("fault-record-beyond-load", nth=81)),
        (refuse(OnFrame("Vote")), coded("frames-api-never-sent", api="Vote")),
        (refuse(OnFrame("Fetch")), coded("frames-api-never-sent", api="Fetch")),
        (refuse(OnFrame("nonsense")), coded("unknown-name", name="nonsense", count=13)),
        (drop(api="Fetch"), coded("frames-api-never-sent", api="Fetch")),
        (refuse(OnFrame("Metadata", partition=1)), coded("frames-partition-of-api", api="Metadata")),
        (drop(api="Metadata", partition=1), coded("frames-partition-of-api", api="Metadata")),
        (drop("request", error_code=6), "frames-error-code-of-request"),
        (drop(error_code=4_711), coded("frames-error-code-range", error_code=4711, lowest=-1, highest=133)),
        (drop(version=999), coded("frames-version-range", version=999, api="Produce")),
        (drop(version=-1), coded("frames-version-range", version=-1, api="Produce")),
        (drop(connection=-3), coded("frames-connection-range", connection=-3)),
        (drop(connection=0), coded("frames-connection-range", connection=0)),
        (
            refuse(AtTime(0), brokers=(9,)),
            coded("fault-broker-range", broker=9, cluster="scripted:4.3.1x3", last=3),
        ),
        (
            refuse(AtTime(0), brokers=(1, -1)),
            coded("fault-broker-range", broker=-1, cluster="scripted:4.3.1x3", last=3),
        ),
        (
            refuse(AtTime(0), brokers=(0,)),
            coded("fault-broker-range", broker=0, cluster="scripted:4.3.1x3", last=3),
        ),
        (refuse(AtTime(900), until=AtTime(800)), coded("fault-ends-before-start", ms=800, earliest_ms=900)),
        (
            refuse(OnFrame("Produce", after_ms=9), until=AtTime(8)),
            coded("fault-ends-before-start", earliest_ms=9),
        ),
        (refuse(AtTime(9), until=STARTUP), coded("fault-ends-before-phase", phase="startup")),
        (refuse(STARTUP, until=STARTUP), coded("fault-ends-before-phase", phase="startup")),
        (refuse(AtTime(0), until=LOADED), coded("fault-ends-before-phase", phase="load")),
        (
            refuse(AtTime(0), 10**18),
            coded("fault-value-too-high", name="duration_ms", fault="refuse", high=3600000),
        ),
        (refuse(AtTime(10**18)), coded("fault-value-too-high", name="ms", fault="refuse", high=3600000)),
        (
            refuse(OnFrame("Produce", after_ms=10**18)),
            coded("fault-value-too-high", name="after_ms", fault="refuse", high=3600000),
        ),
        (
            said_of(99),
            coded(
                "frames-api-never-sent",
                api=99,
                workload="produce",
                asked=re.compile(r"Produce \(0\).*Metadata \(3\)"),
            ),
        ),
        (said_of(99, "error_response"), coded("frames-api-never-sent", fault="error_response", api=99)),
        (said_of(1), coded("frames-api-never-sent", api=1)),
    ],
)
def test_an_impossible_fault_is_refused(fault: FaultSpec, said: str) -> None:
    with raises_code(UsageError, said) as refusal:
        check(fault)
    assert repr(fault.kind) in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "fault",
    [
        refuse(AtTime(4_999)),
        refuse(AtTime(0), validate_faults.LONGEST_MS),
        refuse(OnFrame("EndTxn")),
        refuse(OnFrame("Produce", nth=10_000, partition=1)),
        refuse(OnClientEvent(nth=80)),
        refuse(STARTUP, until=LOADED),
        refuse(STARTUP, until=AtTime(0)),
        refuse(STARTUP, until=OnClientEvent(nth=100)),
        refuse(AtTime(900), until=AtTime(900)),
        refuse(AtTime(0), brokers=(1, 2, 3)),
        drop(version=9, partition=1, error_code=-1, connection=1),
        drop("request", "Metadata"),
        said_of(3),
    ],
)
def test_a_possible_fault_is_accepted(fault: FaultSpec) -> None:
    check(fault)


def test_a_fault_may_start_after_the_load_while_another_is_active() -> None:
    late, other = refuse(AtTime(10_400)), FaultSpec("latency", AtTime(0), 500, {"upstream_ms": 5})
    check(late, other)
    with raises_code(UsageError, "fault-starts-after-load", earliest_ms=10500, load_ms=5000):
        check(refuse(AtTime(10_500)), other)


def test_a_schedule_for_three_brokers_is_accepted_on_fewer() -> None:
    check(refuse(AtTime(0), brokers=(3,)), broker=ONE)
    with raises_code(UsageError, "fault-broker-range", broker=4, cluster="scripted:4.3.1x1", last=3):
        check(refuse(AtTime(0), brokers=(4,)), broker=ONE)
    check(refuse(AtTime(0), brokers=(4,)), broker="scripted:4.3.1x9")
