"""What a schedule may not ask for: each is one sentence that says what, where, and what instead."""

from __future__ import annotations

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

CLIENT = ClientRef("reference", "0")
THREE, ONE = "scripted:4.3.1x3", "scripted:4.3.1x1"
#: 100 records, 20 of them before the load; 5,000 ms.
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
        (refuse(AtTime(5_000)), "would start 5000 ms into a load of 5000 ms: let it start within the load"),
        (refuse(OnFrame("Produce", after_ms=6_000)), "would start 6000 ms into a load of 5000 ms"),
        (refuse(OnClientEvent(after_ms=6_000)), "would start 6000 ms into a load of 5000 ms"),
        (refuse(OnClientEvent(nth=1_000_000)), "waits for record 1000000 of the load, which has 80 behind"),
        (
            refuse(OnClientEvent("invoke", nth=81)),
            "waits for record 81 of the load, which has 80 behind its warm-",
        ),
        (refuse(AtTime(0), until=OnClientEvent(nth=81)), "waits for record 81 of the load"),
        (
            refuse(OnFrame("Vote")),
            "names the API Vote, which a workload produce never asks; it asks Produce",
        ),
        (
            refuse(OnFrame("Fetch")),
            "names the API Fetch, which a workload produce never asks; it asks Produce",
        ),
        (refuse(OnFrame("nonsense")), "unknown API, for fault 'refuse' 'nonsense'; some of 13 are"),
        (drop(api="Fetch"), "names the API Fetch, which a workload produce never asks"),
        (refuse(OnFrame("Metadata", partition=1)), "names a partition of Metadata; only frames of Produce"),
        (drop(api="Metadata", partition=1), "names a partition of Metadata; only frames of Produce"),
        (drop("request", error_code=6), "names an error code of a request; only a response has one"),
        (drop(error_code=4_711), "names the error code 4711; there is none beyond -1 to 133"),
        (drop(version=999), r"names version 999 of Produce, which has \d+ to \d+"),
        (drop(version=-1), "names version -1 of Produce, which has"),
        (drop(connection=-3), "names connection -3, but those of a trial count from 1"),
        (drop(connection=0), "names connection 0, but those of a trial count from 1"),
        (refuse(AtTime(0), brokers=(9,)), "names broker 9; on scripted:4.3.1x3 it can name 1 to 3"),
        (refuse(AtTime(0), brokers=(1, -1)), "names broker -1; on scripted:4.3.1x3 it can name 1 to 3"),
        (refuse(AtTime(0), brokers=(0,)), "names broker 0; on scripted:4.3.1x3 it can name 1 to 3"),
        (refuse(AtTime(900), until=AtTime(800)), "would end at 800 ms of load, before its start at 900 ms"),
        (refuse(OnFrame("Produce", after_ms=9), until=AtTime(8)), "before its start at 9 ms or later"),
        (refuse(AtTime(9), until=STARTUP), "cannot end with the beginning of 'startup': it has not begun"),
        (refuse(STARTUP, until=STARTUP), "cannot end with the beginning of 'startup'"),
        (refuse(AtTime(0), until=LOADED), "cannot end with the beginning of 'load'"),
        (refuse(AtTime(0), 10**18), "duration_ms of fault 'refuse' must be 3600000 or less, not 1000"),
        (refuse(AtTime(10**18)), "ms of fault 'refuse' must be 3600000 or less"),
        (refuse(OnFrame("Produce", after_ms=10**18)), "after_ms of fault 'refuse' must be 3600000 or less"),
        (
            said_of(99),
            r"names the API 99, which a workload produce never asks; it asks Produce \(0\), Metadata \(3\)",
        ),
        (
            said_of(99, "error_response"),
            "'error_response' names the API 99, which a workload produce never asks",
        ),
        (said_of(1), "names the API 1, which a workload produce never asks"),
    ],
)
def test_what_can_never_come_is_refused_in_one_sentence(fault: FaultSpec, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
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
def test_what_can_come_is_not_refused(fault: FaultSpec) -> None:
    check(fault)


def test_behind_the_load_a_fault_can_start_while_another_lasts() -> None:
    late, other = refuse(AtTime(10_400)), FaultSpec("latency", AtTime(0), 500, {"upstream_ms": 5})
    check(late, other)
    with pytest.raises(UsageError, match="would start 10500 ms into a load of 5000 ms"):
        check(refuse(AtTime(10_500)), other)


def test_a_schedule_made_for_three_brokers_is_carried_out_on_fewer() -> None:
    check(refuse(AtTime(0), brokers=(3,)), broker=ONE)
    with pytest.raises(UsageError, match=r"names broker 4; on scripted:4\.3\.1x1 it can name 1 to 3"):
        check(refuse(AtTime(0), brokers=(4,)), broker=ONE)
    check(refuse(AtTime(0), brokers=(4,)), broker="scripted:4.3.1x9")
