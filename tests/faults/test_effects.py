"""Detected effects of faults: an effect where the fault was, and none in a trial, or at a time, without it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.fault_activation import activation, effects
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.mode import Mode
from harness.model.rows import FaultRow
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnPhase, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from harness.plugins.fault import Fault
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.workloads.consume.profile import consumer_config
from harness.workloads.produce.profile import producer_config

pytestmark = pytest.mark.long("simulated trials of every kind of fault")

NS_PER_MS = 1_000_000
#: Faults of the tests begin this long after the load and last this long. A period without faults precedes them.
AT_MS, FOR_MS, LOAD_MS = 12_000, 4_000, 18_000
PEACE_MS = 5_000

PRODUCE = FrameMatch("Produce", first=2)
REQUEST = FrameMatch("Produce", "request", first=2)
FETCH = FrameMatch("Fetch", count=50)
#: Kinds that act on what only clients that read are sent.
OF_FETCHES = {"damaged_batch"}
#: Kinds with parameters, chosen so that the simulated ones have an effect.
LISTED: tuple[tuple[str, dict[str, int], FrameMatch | None], ...] = (
    ("bandwidth", {"upstream_bytes_per_s": 300}, None),
    ("bandwidth", {"downstream_bytes_per_s": 100}, None),
    ("broker_kill", {}, None),
    ("broker_pause", {}, None),
    ("broker_restart", {}, None),
    ("changed_error", {"code": 7}, PRODUCE),
    ("close_at_frame", {"at_byte": 6}, PRODUCE),
    ("close_at_frame", {"at_byte": -1}, PRODUCE),
    ("connect_timeout", {}, None),
    ("coordinator_move", {}, None),
    ("disconnect", {}, None),
    ("dropped_frame", {}, PRODUCE),
    ("dropped_frame", {"end": 1}, REQUEST),
    ("dropped_request", {}, None),
    ("dropped_response", {}, None),
    ("duplicated_response", {}, PRODUCE),
    ("error_response", {}, None),
    ("delayed_past_disconnect", {}, None),
    ("half_open", {}, None),
    ("half_open", {"unaware_broker": 1}, None),
    ("accept_then_close", {}, None),
    ("held_frame", {}, REQUEST),
    ("idle_kill", {"idle_ms": 500}, None),
    ("late_frame", {"delay_ms": 1_500}, PRODUCE),
    ("late_response", {}, None),
    ("latency", {"upstream_ms": 400}, None),
    ("latency", {"downstream_ms": 400}, None),
    ("latency", {"upstream_ms": 1, "downstream_ms": 1}, None),
    ("leader_move", {}, None),
    ("log_trim", {}, None),
    ("message_size_limit", {"bytes": 150}, None),
    ("min_isr", {}, None),
    ("partition", {}, None),
    ("partition", {"loud": 1}, None),
    ("partition", {"upstream": 0}, None),
    ("partition", {"downstream": 0}, None),
    ("producer_id_expiry", {}, None),
    ("quota", {}, None),
    ("refuse", {}, None),
    ("reset", {}, None),
    ("sliced_frame", {"gap_us": 5_000}, PRODUCE),
    ("slicer", {"delay_us": 20_000}, None),
    ("slicer", {}, None),
    ("stale_metadata", {"leader_id": 3}, None),
    ("swapped_responses", {}, PRODUCE),
    ("throttle", {}, None),
    ("topic_growth", {}, None),
    ("topic_recreate", {}, None),
    ("torn_frame", {}, None),
    ("torn_frame", {"upstream": 1, "reset": 1}, None),
    ("unsupported_version", {}, None),
    ("wrong_correlation_id", {}, PRODUCE),
)
#: And every other kind with its defaults.
KINDS = (
    *LISTED,
    *(
        (name, {}, FETCH if name in OF_FETCHES else PRODUCE if kind.of_frames else None)
        for name, kind in registry.table("faults").items()
        if name not in {listed for listed, _, _ in LISTED}
    ),
)
#: group without faults has no rebalance in which its listener could throw.
#: peace has no rebalance in which its listener could throw.
NOT_SHOWN_HERE = {
    ("broker_restart", ()),
    ("coordinator_move", ()),
    ("idle_kill", (("idle_ms", 500),)),
    ("latency", (("downstream_ms", 1), ("upstream_ms", 1))),
    ("listener_throws", ()),
    ("quota", ()),
    ("slicer", ()),
    ("unsupported_version", ()),
}
#: Kinds whose effect no frame shows. Their row is written only if the brokers confirm it.
BY_THE_BROKERS_WORD = {"producer_id_expiry"}
#: Kinds whose effect lasts as long as the log: it has no window.
IN_THE_LOG = {"compaction"}


def of_members(kind: str) -> bool:
    return kind in OF_FETCHES or any(
        getattr(registry.fault(kind), name, False) for name in ("of_members", "loses_records")
    )


def tried(*faults: FaultSpec, seed: int = 1, nodes: int = 3) -> Evidence:
    """Return the evidence of a producer with these faults, or of a group if they act on members."""
    if any(of_members(each.kind) for each in faults):
        return grouped(*faults, seed=seed, nodes=nodes)
    asked: dict[str, Any] = {"request.timeout.ms": 1_000, "metadata.max.age.ms": 1_000}
    guarantee = (Guarantee.IDEMPOTENT, Guarantee.AT_LEAST_ONCE)[seed % 2]
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker=f"scripted:4.3.1x{nodes}",
        scenario="generated/any",
        guarantee=guarantee,
        seed=seed,
        workload=Workload(records=180, records_per_command=5, interval_ms=500, partitions=2, value_bytes=64),
        faults=faults,
        config=producer_config(guarantee, asked),
    )
    return SimulatedTrial(trial, RUN_ID).run()


def grouped(*faults: FaultSpec, seed: int, nodes: int) -> Evidence:
    guarantee = (Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE)[seed % 2]
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker=f"scripted:4.3.1x{nodes}",
        scenario="group/join",
        guarantee=guarantee,
        seed=seed,
        workload=Workload(
            kind="consume",
            records=180,
            records_per_command=5,
            interval_ms=500,
            partitions=2,
            value_bytes=64,
            params={"members": 2},
        ),
        faults=faults,
        config=consumer_config(guarantee, {"isolation.level": "read_committed"}),
    )
    return SimulatedTrial(trial, RUN_ID).run()


@cache
def calm(seed: int, *, group: bool = False) -> Evidence:
    nodes = 1 + seed % 3
    return grouped(seed=seed, nodes=nodes) if group else tried(seed=seed, nodes=nodes)


@cache
def beset(kind: str, params: tuple[tuple[str, int], ...], frames: FrameMatch | None) -> Evidence:
    return tried(FaultSpec(kind, AtTime(AT_MS), FOR_MS, dict(params), frames=frames), seed=2)


def key(kind: str, params: dict[str, int]) -> tuple[str, tuple[tuple[str, int], ...]]:
    return kind, tuple(sorted(params.items()))


def placed(evidence: Evidence, row: FaultRow, begin_ms: int, duration_ms: int) -> Evidence:
    """Return the evidence with only that row, in effect from this long after the load began.

    Like every fault, it ends before the last phase, in which the harness itself closes the members.
    """
    phases = evidence.record.phases
    begin_ns = (phases.load_ns or 0) + begin_ms * NS_PER_MS
    last_ns = (phases.final_ns or 0) - 1
    window = min(begin_ns, last_ns), min(begin_ns + duration_ms * NS_PER_MS, last_ns)
    others = tuple(each for each in evidence.faults if each.index != row.index)
    there = restruct(row, requested_ns=window, effective_ns=window)
    return replace(evidence, faults=(there, *others))


def simulated() -> list[Any]:
    return [
        each
        for each in KINDS
        if Mode.SIMULATED in registry.fault(each[0]).modes and key(each[0], each[1]) not in NOT_SHOWN_HERE
    ]


def test_every_kind_is_covered_and_detects_its_effect() -> None:
    for kind in registry.table("faults").values():
        assert type(kind).effects is not Fault.effects, kind.name
        assert kind.shown_by, kind.name


@pytest.mark.parametrize(("kind", "params", "frames"), simulated(), ids=str)
def test_injected_fault_has_an_effect(kind: str, params: dict[str, int], frames: FrameMatch | None) -> None:
    if kind in ("topic_growth", "log_trim", "topic_recreate", "producer_id_expiry"):
        evidence = tried(FaultSpec(kind, AtTime(AT_MS - 4_000), 1_000, params), seed=2)
    else:
        evidence = beset(kind, key(kind, params)[1], frames)
    [shown] = effects(evidence).values()
    assert shown.count > 0, shown.what


def test_a_member_that_ends_its_work_before_it_closes_has_left() -> None:
    evidence = grouped(FaultSpec("member_leave", AtTime(AT_MS), 50, {"member": 1}), seed=2, nodes=1)
    [closed_ns] = [
        event.mono_ns
        for event in evidence.history
        if isinstance(event, OpComplete)
        and event.op == "close"
        and event.mono_ns < (evidence.record.phases.final_ns or 0)
    ]
    [row] = evidence.faults
    early = replace(evidence, faults=(restruct(row, effective_ns=(closed_ns - 9, closed_ns - 1)),))
    assert effects(early)[0].count == 1


@settings(max_examples=300)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 6),
    st.integers(-500, LOAD_MS + 2_000),
    st.sampled_from([0, 1, 50, 300, 2_000, 9_000]),
    st.sampled_from([(), (1,), (2, 3)]),
)
def test_no_fault_has_an_effect_in_a_calm_trial(
    kind: Any, seed: int, begin_ms: int, duration_ms: int, brokers: tuple[int, ...]
) -> None:
    name, params, frames = kind
    if name in BY_THE_BROKERS_WORD:
        return
    spec = FaultSpec(name, AtTime(0), duration_ms, params, brokers, frames)
    calmly = calm(seed, group=of_members(name))
    evidence = placed(calmly, FaultRow(0, spec, None, None, hits=7), begin_ms, duration_ms)
    assert effects(evidence)[0].count == 0, effects(evidence)[0].what


@pytest.mark.parametrize(("kind", "params", "frames"), simulated(), ids=str)
@given(st.integers(0, PEACE_MS), st.sampled_from([0, 50, 300, 1_500]))
@settings(max_examples=12)
def test_fault_has_no_effect_at_another_time(
    kind: str, params: dict[str, int], frames: FrameMatch | None, begin_ms: int, duration_ms: int
) -> None:
    if kind in BY_THE_BROKERS_WORD | IN_THE_LOG:
        return
    evidence = beset(kind, key(kind, params)[1], frames)
    [row] = evidence.faults
    moved = placed(evidence, row, begin_ms, duration_ms)
    assert effects(moved)[0].count == 0, effects(moved)[0].what


def test_fault_that_never_began_has_no_effect() -> None:
    for name, params, frames in KINDS:
        row = FaultRow(0, FaultSpec(name, AtTime(0), 1_000, params, frames=frames), (1, 2), None, hits=3)
        evidence = replace(calm(1, group=of_members(name)), faults=(row,))
        assert effects(evidence)[0].count == 0, name


SCENARIO = registry.scenario("generated/any")
CUT = FaultSpec("disconnect", AtTime(3_000), 100)
#: No client sends requests any more.
TOO_LATE = FaultSpec("dropped_response", AtTime(LOAD_MS - 200), 100)


@pytest.mark.parametrize(
    ("require_all_faults", "verdict"), [(False, Verdict.PASS), (True, Verdict.NOT_EXERCISED)]
)
def test_each_fault_is_reported_separately(require_all_faults: bool, verdict: Verdict) -> None:
    evidence = tried(CUT, TOO_LATE)
    said = activation(evidence, replace(SCENARIO, require_all_faults=require_all_faults))
    assert said.verdict is verdict
    assert "fault 1 (dropped_response)" in said.reason.message
    assert "disconnect" not in said.reason.message
    assert [(each.kind, bool(each.effects)) for each in said.faults] == [
        ("disconnect", True),
        ("dropped_response", False),
    ]
    assert all(each.shown_by for each in said.faults)


def test_trial_without_effects_is_not_exercised_and_names_all_faults() -> None:
    evidence = tried(TOO_LATE, FaultSpec("unsupported_version", OnPhase("load"), 100))
    said = activation(evidence, replace(SCENARIO, require_all_faults=False))
    assert said.verdict is Verdict.NOT_EXERCISED
    assert said.reason.code == "fault-without-effect" and said.reason.params["fault"] == "dropped_response"
    assert "fault 1 (unsupported_version)" in said.reason.message


def test_kind_without_effect_is_detected_by_its_hits() -> None:
    class Foreign:
        name = CUT.kind

    evidence = tried(CUT)
    with registry.replaced("faults", {CUT.kind: Foreign()}):
        [account] = activation(evidence, SCENARIO).faults
    assert account.effects == account.hits > 0
    assert "measures no effect" in account.shown_by


def test_uninstalled_kind_is_detected_by_its_hits() -> None:
    row = FaultRow(0, FaultSpec("gone", AtTime(0), 1_000), (1, 2), (1, 2), hits=3)
    assert effects(replace(calm(1), faults=(row,)))[0].count == 3
