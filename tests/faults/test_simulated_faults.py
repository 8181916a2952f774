"""Faults in virtual time: each affects the reference client's traffic, and ends without a loss."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from faults.kinds.coordinator_move import CoordinatorMove
from harness.brokers.scripted.apis.coordinators import group_coordinator
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnPhase, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.judged import RUN_ID
from harness.simulated.lane import SimulatedLane
from harness.simulated.scheduler import Scheduler
from harness.simulated.trial import SimulatedTrial
from harness.witness.rules import FrameRules
from harness.workloads.produce.profile import producer_config

RECORDS = 100
PRODUCE = FrameMatch("Produce", first=2)
REQUEST = FrameMatch("Produce", "request", first=2)
METADATA = FrameMatch("Metadata")
TRIED: tuple[tuple[str, dict[str, int]], ...] = (
    ("bandwidth", {"upstream_bytes_per_s": 300}),
    ("broker_kill", {}),
    ("broker_pause", {}),
    ("connect_timeout", {}),
    ("disconnect", {}),
    ("dropped_request", {}),
    ("dropped_response", {}),
    ("error_response", {}),
    ("delayed_past_disconnect", {}),
    ("half_open", {}),
    ("half_open", {"unaware_broker": 1}),
    ("late_response", {}),
    ("latency", {"upstream_ms": 400}),
    ("latency", {"downstream_ms": 400}),
    ("leader_move", {}),
    ("message_size_limit", {"bytes": 400}),
    ("min_isr", {}),
    ("partition", {}),
    ("partition", {"loud": 1}),
    ("partition", {"upstream": 0}),
    ("partition", {"downstream": 0}),
    ("accept_then_close", {}),
    ("refuse", {}),
    ("reset", {}),
    ("slicer", {"delay_us": 1_000}),
    ("topic_growth", {}),
    ("torn_frame", {}),
    ("torn_frame", {"upstream": 1, "reset": 1}),
)

#: Faults on single frames.
FRAMES: tuple[tuple[str, dict[str, int], FrameMatch | None], ...] = (
    ("changed_error", {"code": 7}, PRODUCE),
    ("close_at_frame", {"at_byte": 6}, PRODUCE),
    ("dropped_frame", {}, PRODUCE),
    ("dropped_frame", {"end": 1}, REQUEST),
    ("duplicated_response", {}, PRODUCE),
    ("held_frame", {}, REQUEST),
    ("late_frame", {"delay_ms": 1_500}, PRODUCE),
    ("sliced_frame", {"gap_us": 5_000}, PRODUCE),
    ("stale_metadata", {"leader_id": 3}, METADATA),
    ("swapped_responses", {}, PRODUCE),
    ("wrong_correlation_id", {}, PRODUCE),
)


def tried(*faults: FaultSpec) -> Evidence:
    settings: dict[str, Any] = {"request.timeout.ms": 1_000, "metadata.max.age.ms": 3_000}
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker="scripted:4.3.1x3",
        scenario="generated/any",
        guarantee=Guarantee.IDEMPOTENT,
        seed=1,
        workload=Workload(
            records=RECORDS, records_per_command=10, interval_ms=1_000, partitions=2, value_bytes=64
        ),
        faults=faults,
        config=producer_config(Guarantee.IDEMPOTENT, settings),
    )
    return SimulatedTrial(trial, RUN_ID).run()


@pytest.fixture(scope="module")
def calm() -> Evidence:
    return tried()


@pytest.mark.twin(
    "bandwidth",
    "broker_kill",
    "broker_pause",
    "changed_error",
    "close_at_frame",
    "connect_timeout",
    "disconnect",
    "dropped_frame",
    "dropped_request",
    "dropped_response",
    "duplicated_response",
    "error_response",
    "delayed_past_disconnect",
    "half_open",
    "accept_then_close",
    "held_frame",
    "late_frame",
    "late_response",
    "latency",
    "leader_move",
    "message_size_limit",
    "min_isr",
    "partition",
    "refuse",
    "reset",
    "sliced_frame",
    "slicer",
    "stale_metadata",
    "swapped_responses",
    "topic_growth",
    "torn_frame",
    "wrong_correlation_id",
)
@pytest.mark.parametrize(("kind", "params", "frames"), [*((*each, None) for each in TRIED), *FRAMES], ids=str)
def test_simulated_fault_hits_and_ends(
    kind: str, params: dict[str, int], frames: FrameMatch | None, calm: Evidence
) -> None:
    evidence = tried(FaultSpec(kind, AtTime(1_500), 4_000, params, frames=frames))
    (row,) = evidence.faults
    assert row.effective_ns is not None and row.hits and row.hits > 0
    assert evidence.history != calm.history
    assert len({(record.partition, record.offset) for record in evidence.log}) == RECORDS


def test_closed_connections_were_accepted_and_retries_wait_longer() -> None:
    """Only READY ends the series of attempts (NET-CON-06)."""
    evidence = tried(FaultSpec("accept_then_close", AtTime(1_500), 4_000, brokers=(1,)))
    (row,) = evidence.faults
    assert row.effective_ns is not None
    begin_ns, end_ns = row.effective_ns
    opened = {
        frame.conn: frame.t_ns
        for frame in evidence.frames
        if frame.kind is FrameKind.OPEN and frame.broker == 1 and begin_ns < frame.t_ns < end_ns
    }
    assert len(opened) > 3
    answered = {frame.conn for frame in evidence.frames if frame.kind is FrameKind.RESPONSE}
    assert not answered & opened.keys()
    moments = [*opened.values()]
    waits_ns = [later - earlier for earlier, later in pairwise(moments)]
    # Each wait is doubled up to its limit, and drawn from 20 % around that.
    assert all(later > earlier for earlier, later in pairwise(waits_ns[:3]))


@pytest.mark.twin("unsupported_version")
def test_old_broker_is_asked_again_in_version_0() -> None:
    evidence = tried(FaultSpec("unsupported_version", OnPhase("startup"), 60_000))
    (row,) = evidence.faults
    asked = [frame for frame in evidence.frames if frame.kind is FrameKind.REQUEST and frame.conn == 1]
    assert row.hits == 1
    assert [frame.api for frame in asked[:2]] == ["ApiVersions"] * 2
    assert (asked[0].api_version or 0) > asked[1].api_version == 0


@pytest.mark.twin("coordinator_move")
def test_every_key_gets_another_coordinator() -> None:
    cluster = ScriptedCluster("4.3.1", {n: ("b", n) for n in (1, 2, 3)}, Dice(1, "c"))
    lane = SimulatedLane((), cluster, "t", Scheduler(0), FrameRules())
    fault, spec = registry.fault("coordinator_move"), FaultSpec("coordinator_move", AtTime(0), 1_000)
    before = {key: group_coordinator(cluster.state, key) for key in ("a", "b", "c", "d")}
    assert isinstance(fault, CoordinatorMove)
    fault.inject_sim(spec, lane)
    fault.heal_sim(spec, lane)
    after = {key: group_coordinator(cluster.state, key) for key in before}
    assert all(before[key] != after[key] for key in before)


def test_marked_kinds_are_the_tested_ones() -> None:
    (marked,) = (mark for mark in test_simulated_fault_hits_and_ends.pytestmark if mark.name == "twin")
    assert set(marked.args) == {kind for kind, *_ in (*TRIED, *FRAMES)}
