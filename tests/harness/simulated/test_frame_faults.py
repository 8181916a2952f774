"""Faults on single frames in virtual time: which frame they affect, and how the client reacts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.evidence import Evidence
from harness.model.rows import Disposition, Ending, Frame, FrameKind
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnPhase, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from harness.simulated.judged import RUN_ID, try_spec
from harness.simulated.trial import SimulatedTrial
from harness.workloads.produce.profile import producer_config

LOAD = Workload(records=100, records_per_command=20, interval_ms=1_000, partitions=1)
FOR_LONG_MS = 8_000
TIMEOUT_MS = 3_000


def trial(*faults: FaultSpec, guarantee: Guarantee = Guarantee.IDEMPOTENT) -> TrialSpec:
    client = ClientRef("reference", registry.client("reference").default_version)
    config = producer_config(guarantee, {})
    return TrialSpec("t", client, "scripted:4.3.1x1", "generated/any", guarantee, 1, LOAD, faults, config)


def on(kind: str, direction: str = "response", first: int = 2, **params: int) -> FaultSpec:
    match = FrameMatch("Produce", direction, first=first)
    return FaultSpec(kind, AtTime(0), FOR_LONG_MS, params, frames=match)


def run(fault: FaultSpec, guarantee: Guarantee = Guarantee.IDEMPOTENT) -> Evidence:
    evidence, verdict = try_spec(trial(fault, guarantee=guarantee))
    assert evidence.record.ending is Ending.COMPLETE, evidence.record.reason
    assert verdict.verdict == Verdict.PASS, verdict.reason
    [row] = evidence.faults
    assert row.hits == 1
    return evidence


def produced(evidence: Evidence, kind: FrameKind = FrameKind.REQUEST) -> list[Frame]:
    load_ns = evidence.record.phases.load_ns or 0
    frames = [*evidence.frames, *evidence.blocked_frames]
    return sorted(
        (f for f in frames if f.kind is kind and f.api == "Produce" and f.arrived_ns > load_ns),
        key=lambda frame: frame.arrived_ns,
    )


def test_a_batch_is_sent_again_after_a_lost_answer() -> None:
    evidence = run(on("dropped_frame"))
    first, lost, *later = produced(evidence)
    again = next(frame for frame in later if frame.produce[0].crc == lost.produce[0].crc)
    [stopped] = evidence.blocked_frames
    assert (stopped.kind, stopped.correlation_id, stopped.disposition) == (
        FrameKind.RESPONSE,
        lost.correlation_id,
        Disposition.BLOCKED,
    )
    assert again.conn > lost.conn == first.conn


def test_a_lost_request_never_reaches_the_broker() -> None:
    evidence = run(on("dropped_frame", "request"))
    assert [frame.kind for frame in evidence.blocked_frames] == [FrameKind.REQUEST]
    assert len(evidence.log) == LOAD.records


def test_a_ghost_request_is_stored_after_its_client_has_disconnected() -> None:
    fault = on("held_frame", "request")
    evidence = run(replace_duration(fault, 2 * TIMEOUT_MS), Guarantee.AT_LEAST_ONCE)
    held = next(frame for frame in produced(evidence) if frame.disposition is Disposition.DELAYED)
    left = min(f.t_ns for f in evidence.frames if f.kind is FrameKind.CLOSE and f.conn == held.conn)
    assert left < held.t_ns == (evidence.faults[0].effective_ns or (0, 0))[1]
    assert len(evidence.log) >= LOAD.records + (held.produce[0].records or 0)


def replace_duration(fault: FaultSpec, duration_ms: int) -> FaultSpec:
    return FaultSpec(fault.kind, fault.start, duration_ms, fault.params, frames=fault.frames)


def test_a_batch_is_sent_again_when_its_answer_is_too_late() -> None:
    evidence = run(on("late_frame", delay_ms=TIMEOUT_MS + 500))
    asked = produced(evidence)
    assert sum(frame.produce[0].crc == asked[1].produce[0].crc for frame in asked) == 2


def test_a_connection_ends_within_or_after_an_answer() -> None:
    for fault, disposition in (
        (on("close_at_frame", at_byte=7), Disposition.BLOCKED),
        (on("close_at_frame", at_byte=-1), Disposition.ANNOTATED),
    ):
        evidence = run(fault)
        hit = next(f for f in produced(evidence, FrameKind.RESPONSE) if f.fault)
        closed = [f for f in evidence.frames if f.kind is FrameKind.CLOSE and f.conn == hit.conn]
        assert hit.disposition is disposition and [f.t_ns for f in closed] == [hit.t_ns]
        again = [f for f in produced(evidence) if f.conn > hit.conn]
        assert again and again[0].t_ns > hit.t_ns


@pytest.mark.parametrize(
    "fault",
    [
        on("sliced_frame", size_bytes=1, gap_us=1_000),
        on("sliced_frame", "request", size_bytes=3, gap_us=500),
        on("duplicated_response"),
        on("wrong_correlation_id"),
        FaultSpec("swapped_responses", AtTime(0), FOR_LONG_MS, frames=FrameMatch("Produce", first=2)),
        FaultSpec("unsupported_version", OnPhase("startup"), 60_000),
    ],
    ids=lambda fault: f"{fault.kind}",
)
def test_the_reference_client_tolerates_the_fault(fault: FaultSpec) -> None:
    evidence = run(fault)
    assert len(evidence.log) == LOAD.records


@pytest.mark.parametrize(
    "fault",
    [
        on("changed_error", code=0),
        on("sliced_frame", size_bytes=1_048_576),
        on("sliced_frame", "request", size_bytes=1_048_576),
        FaultSpec("stale_metadata", OnPhase("startup"), FOR_LONG_MS, {"leader_id": 1}),
        replace_duration(on("swapped_responses", first=1), 1_500),
    ],
    ids=lambda fault: f"{fault.kind}",
)
def test_a_fault_that_changes_nothing_has_no_hits(fault: FaultSpec) -> None:
    """There is one broker, which leads, and one answer per second, so that no other can overtake it."""
    evidence, verdict = try_spec(trial(fault))
    [row] = evidence.faults
    assert (row.hits, verdict.verdict) == (0, Verdict.NOT_EXERCISED)
    assert all(frame.fault is None and frame.disposition is None for frame in evidence.frames)
    assert any((frame.note or "").startswith("not changed: ") for frame in evidence.frames)


KINDS = {
    "dropped_frame": ({"end": st.integers(0, 2)}, ("request", "response")),
    "late_frame": ({"delay_ms": st.integers(1, 5_000)}, ("request", "response")),
    "held_frame": ({}, ("request", "response")),
    "sliced_frame": (
        {"size_bytes": st.integers(1, 40), "gap_us": st.integers(0, 5_000)},
        ("request", "response"),
    ),
    "close_at_frame": (
        {"at_byte": st.integers(-1, 40), "reset": st.integers(0, 1)},
        ("request", "response"),
    ),
    "duplicated_response": ({}, ("response",)),
    "swapped_responses": ({}, ("response",)),
    "wrong_correlation_id": ({}, ("response",)),
}


@st.composite
def faults(draw: st.DrawFn) -> FaultSpec:
    kind = draw(st.sampled_from(sorted(KINDS)))
    params, directions = KINDS[kind]
    match = FrameMatch(
        draw(st.sampled_from(["Produce", "Produce", "Metadata", "ApiVersions", "InitProducerId"])),
        draw(st.sampled_from(directions)),
        first=draw(st.integers(1, 4)),
        count=draw(st.integers(1, 3)),
    )
    start = draw(st.sampled_from([OnPhase("startup"), AtTime(0), AtTime(1_500)]))
    values = {name: draw(value) for name, value in params.items()}
    return FaultSpec(kind, start, draw(st.integers(100, 9_000)), values, frames=match)


@given(faults=st.lists(faults(), min_size=1, max_size=3), guarantee=st.sampled_from(list(Guarantee)[:3]))
def test_no_frame_faults_make_the_reference_client_fail(
    faults: list[FaultSpec], guarantee: Guarantee
) -> None:
    unique = {(fault.kind, fault.start, str(fault)): fault for fault in faults}
    spec = trial(*unique.values(), guarantee=guarantee)
    evidence, verdict = try_spec(spec)
    assert verdict.verdict in (Verdict.PASS, Verdict.NOT_EXERCISED, Verdict.INCONCLUSIVE), verdict.reason
    assert SimulatedTrial(spec, RUN_ID).run().frames == evidence.frames
    told = replace(evidence, blocked_frames=())
    assert all(frame.disposition is not Disposition.BLOCKED for frame in told.frames)
