"""The faults of the network in virtual time: each hits a trial of the reference client, and ends."""

from __future__ import annotations

import pytest

from harness import registry
from harness.outcome import Guarantee
from harness.plan import producer_config
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef, Elapsed, FaultSpec, TrialSpec, Workload


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("late_response", {}),
        ("ghost_request", {}),
        ("partition", {}),
        ("partition", {"loud": 1}),
        ("partition", {"upstream": 0}),
        ("partition", {"downstream": 0}),
        ("half_open", {"unaware_broker": 1}),
    ],
    ids=str,
)
def test_in_the_simulated_world_it_hits_and_ends(kind: str, params: dict[str, int]) -> None:
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker="scripted:4.3.1x1",
        scenario="generated/any",
        guarantee=Guarantee.IDEMPOTENT,
        seed=1,
        workload=Workload(records=100, chunk=10, interval_ms=1_000, partitions=2, value_bytes=64),
        faults=(FaultSpec(kind, Elapsed(1_500), 4_000, params),),
        config=producer_config(Guarantee.IDEMPOTENT, "none", {"request.timeout.ms": 1_000}),
    )
    evidence = SimulatedTrial(trial, RUN_ID).run()
    (row,) = evidence.faults
    assert row.effective_ns is not None and row.hits and row.hits > 0
    assert len({(record.partition, record.offset) for record in evidence.log}) >= 100
