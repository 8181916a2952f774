"""Faults in virtual time: each changes what the reference client lives through, and ends without a loss."""

from __future__ import annotations

from typing import Any

import pytest

from harness import registry
from harness.evidence import Evidence
from harness.outcome import Guarantee
from harness.plan import producer_config
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef, Elapsed, FaultSpec, TrialSpec, Workload

RECORDS = 100
TRIED: tuple[tuple[str, dict[str, int]], ...] = (
    ("bandwidth", {"upstream_bytes_per_s": 300}),
    ("broker_kill", {}),
    ("broker_pause", {}),
    ("connect_timeout", {}),
    ("disconnect", {}),
    ("dropped_request", {}),
    ("dropped_response", {}),
    ("error_response", {}),
    ("ghost_request", {}),
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
    ("refuse", {}),
    ("reset", {}),
    ("slicer", {"delay_us": 1_000}),
    ("topic_growth", {}),
    ("torn_frame", {}),
    ("torn_frame", {"upstream": 1, "reset": 1}),
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
        workload=Workload(records=RECORDS, chunk=10, interval_ms=1_000, partitions=2, value_bytes=64),
        faults=faults,
        config=producer_config(Guarantee.IDEMPOTENT, "none", settings),
    )
    return SimulatedTrial(trial, RUN_ID).run()


@pytest.fixture(scope="module")
def calm() -> Evidence:
    return tried()


@pytest.mark.twin(
    "bandwidth",
    "broker_kill",
    "broker_pause",
    "connect_timeout",
    "disconnect",
    "dropped_request",
    "dropped_response",
    "error_response",
    "ghost_request",
    "half_open",
    "late_response",
    "latency",
    "leader_move",
    "message_size_limit",
    "min_isr",
    "partition",
    "refuse",
    "reset",
    "slicer",
    "topic_growth",
    "torn_frame",
)
@pytest.mark.parametrize(("kind", "params"), TRIED, ids=str)
def test_in_the_simulated_world_it_hits_and_ends(kind: str, params: dict[str, int], calm: Evidence) -> None:
    evidence = tried(FaultSpec(kind, Elapsed(1_500), 4_000, params))
    (row,) = evidence.faults
    assert row.effective_ns is not None and row.hits and row.hits > 0
    assert evidence.history != calm.history
    assert len({(record.partition, record.offset) for record in evidence.log}) == RECORDS


def test_the_kinds_that_are_marked_are_those_that_are_tried() -> None:
    (marked,) = (
        mark for mark in test_in_the_simulated_world_it_hits_and_ends.pytestmark if mark.name == "twin"
    )
    assert set(marked.args) == {kind for kind, _ in TRIED}
