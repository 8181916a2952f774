"""When faults begin and end: by time, frames, client events and phases; invalid schedules are refused."""

from __future__ import annotations

import pytest

from harness.model.contract import OpComplete, OpInvoke
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import Mode
from harness.model.rows import Ending, FrameKind
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
from harness.plugins import registry
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.workloads.produce.profile import producer_config
from testkit.codes import coded, raises_code

NS_PER_MS = 1_000_000
LOAD = Workload(records=100, records_per_command=20, interval_ms=1_000, partitions=2)


def trial(*faults: FaultSpec) -> TrialSpec:
    client = ClientRef("reference", registry.client("reference").default_version)
    config = producer_config(Guarantee.IDEMPOTENT, {})
    guarantee = Guarantee.IDEMPOTENT
    return TrialSpec("t", client, "scripted:4.3.1x1", "generated/any", guarantee, 1, LOAD, faults, config)


def run(*faults: FaultSpec) -> Evidence:
    evidence = SimulatedTrial(trial(*faults), RUN_ID).run()
    assert evidence.record.ending is Ending.COMPLETE, evidence.record.reason
    return evidence


def refuse(start: Trigger, duration_ms: int = 500, until: Trigger | None = None) -> FaultSpec:
    return FaultSpec("refuse", start, duration_ms, until=until)


def load_ns(evidence: Evidence) -> int:
    assert evidence.record.phases.load_ns is not None
    return evidence.record.phases.load_ns


def test_a_startup_fault_begins_before_the_client() -> None:
    evidence = run(refuse(OnPhase("startup"), 700))
    [row] = evidence.faults
    first = min(frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.REQUEST)
    assert (
        row.effective_ns is not None and row.effective_ns[0] + 700 * NS_PER_MS == row.effective_ns[1] <= first
    )


def test_a_load_fault_begins_with_the_load() -> None:
    evidence = run(refuse(OnPhase("load")), refuse(AtTime(2_500)))
    assert [row.requested_ns and row.requested_ns[0] for row in evidence.faults] == [
        load_ns(evidence),
        load_ns(evidence) + 2_500 * NS_PER_MS,
    ]


@pytest.mark.parametrize(("what", "event"), [("ok", OpComplete), ("invoke", OpInvoke)])
def test_a_client_event_begins_a_fault(what: str, event: type[OpComplete | OpInvoke]) -> None:
    evidence = run(refuse(OnClientEvent(what, nth=41)))
    told = [
        (each.mono_ns, len(each.outcome) if isinstance(each, OpComplete) else each.count)
        for each in evidence.history
        if isinstance(each, event) and each.op == "send" and each.mono_ns > load_ns(evidence)
    ]
    seen, moments = 0, []
    for at_ns, count in told:
        seen += count
        if seen >= 41:
            moments.append(at_ns)
    [row] = evidence.faults
    assert row.requested_ns is not None and row.requested_ns[0] == moments[0]


def test_a_fault_ends_at_its_trigger_or_after_its_duration() -> None:
    early, late = OnFrame("Produce", "request", nth=2), OnFrame("Produce", "request", nth=99)
    slow = FaultSpec("latency", AtTime(0), 9_000, {"upstream_ms": 5}, until=early)
    evidence = run(slow, FaultSpec("latency", AtTime(0), 900, {"downstream_ms": 5}, until=late))
    produced = sorted(
        frame.t_ns
        for frame in evidence.frames
        if frame.kind is FrameKind.REQUEST and frame.api == "Produce" and frame.t_ns >= load_ns(evidence)
    )
    first, second = evidence.faults
    assert first.effective_ns == first.requested_ns == (load_ns(evidence), produced[1])
    assert second.effective_ns == (load_ns(evidence), load_ns(evidence) + 900 * NS_PER_MS)


def test_begin_and_end_times_are_relative_to_the_load() -> None:
    evidence = run(refuse(AtTime(300), 9_000, until=AtTime(1_200)))
    [row] = evidence.faults
    assert row.effective_ns == tuple(load_ns(evidence) + ms * NS_PER_MS for ms in (300, 1_200))


def test_a_startup_fault_can_end_at_a_frame() -> None:
    seen = OnFrame("Produce", "response")
    evidence = run(FaultSpec("latency", OnPhase("startup"), 60_000, {"upstream_ms": 5}, until=seen))
    [row] = evidence.faults
    assert row.effective_ns is not None and row.effective_ns[0] < load_ns(evidence) < row.effective_ns[1]


def test_a_fault_without_its_trigger_has_no_window() -> None:
    [row] = run(refuse(OnClientEvent("fail"))).faults
    assert (row.requested_ns, row.effective_ns) == (None, None)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            FaultSpec("refused", AtTime(0), 1),
            coded("unknown-name", what="fault", name="refused", suggestion="refuse"),
        ),
        (FaultSpec("idle_kill", AtTime(0), 1), coded("fault-not-in-mode", mode="simulated")),
        (
            FaultSpec("latency", AtTime(0), 1, {"upstream": 5}),
            coded("unknown-name", suggestion="upstream_ms"),
        ),
        (refuse(AtTime(-1)), coded("fault-value-too-low", name="ms", fault="refuse", low=0, value=-1)),
        (
            refuse(AtTime(0), -1),
            coded("fault-value-too-low", name="duration_ms", fault="refuse", low=0, value=-1),
        ),
        (refuse(OnFrame("Produces")), coded("unknown-name", name="Produces", suggestion="Produce")),
        (refuse(OnFrame("Produce", "answer")), coded("unknown-name", names=("request", "response"))),
        (
            refuse(OnFrame("Produce", nth=0)),
            coded("fault-value-too-low", name="nth", fault="refuse", low=1, value=0),
        ),
        (refuse(OnFrame("Produce", partition=2)), coded("frames-partition-range", partition=2, last=1)),
        (refuse(OnClientEvent("acks")), coded("unknown-name", names=("fail", "info", "invoke", "ok"))),
        (
            refuse(AtTime(0), until=OnClientEvent(nth=0)),
            coded("fault-value-too-low", name="nth", fault="refuse", low=1),
        ),
        (refuse(OnPhase("heal")), coded("unknown-name", names=("load", "startup"))),
        (
            FaultSpec("held_frame", AtTime(0), 1, frames=FrameMatch("Produce", partition=7)),
            coded("frames-partition-range", partition=7),
        ),
    ],
)
def test_an_invalid_fault_is_refused(fault: FaultSpec, said: str) -> None:
    with raises_code(UsageError, said):
        validate_faults.check([trial(fault)], Mode.SIMULATED)
