"""A behaviour is verified only if its situation arose: never in a calm trial, and in some generated trial."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace as restruct

from harness.model.rows import TrialVerdict
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import try_spec
from suites.analysis import met
from suites.checks.trace.never_arises import NEVER
from suites.checks.trace.situations import situations
from suites.checks.trace.traced import TRACED

REFERENCE = ClientRef("reference", registry.client("reference").default_version)
#: The behaviours of the trace checks that a trial without faults can verify.
CALM = {
    "MET-11",
    "NET-CON-01",
    "NET-INF-01",
    "NET-INF-02",
    "NET-INF-03",
    "PRD-ACC-02",
    "PRD-ACC-03",
    "PRD-CLS-03",
    "PRD-FIN-01",
    "PRD-FIN-04",
    "PRD-IDM-01",
    "PRD-IDM-02",
}


def tried(scenario: str, seed: int) -> TrialVerdict:
    return try_spec(spec_of(registry.scenario(scenario), REFERENCE, seed))[1]


def held(verdict: TrialVerdict) -> set[str]:
    return {each.id for each in verdict.requirements if each.verdict == "pass"}


@pytest.mark.parametrize("seed", range(6))
def test_calm_trial_verifies_no_fault_behaviour(seed: int) -> None:
    verdict = tried("produce/calm", seed)
    assert verdict.verdict == "pass"
    assert held(verdict) & (set(TRACED) | {"PRD-ACC-12", "PRD-EXP-01", "PRD-IDM-12"}) <= CALM
    absent = {each.id for each in verdict.requirements if each.verdict == "not-exercised"}
    assert {"PRD-SPL-01", "PRD-EXP-01", "NET-CON-05", "NET-CON-12", "NET-INF-06", "PRD-SND-02"} <= absent


#: Generated trials in which, together, every possible situation arises.
ARISE_IN = (
    ("generated/any", 464),
    ("generated/any", 273),
    ("generated/any", 140),
    ("generated/any", 122),
    ("broker/smaller-batches", 0),
)


def throttled() -> TrialSpec:
    """A situation that is too rare at random: a throttled broker with requests in flight on the same connection."""
    spec = spec_of(registry.scenario("generated/any"), REFERENCE, 0, "scripted:4.3.1x1")
    load = Workload(records=600, records_per_command=60, interval_ms=100, partitions=3, value_bytes=160)
    settings = {"linger.ms": 0, "batch.size": 512, "max.in.flight.requests.per.connection": 5}
    fault = FaultSpec("throttle", AtTime(0), 1_000, {"throttle_ms": 300})
    return restruct(spec, workload=load, faults=(fault,), config=spec.config | settings)


@cache
def arisen() -> frozenset[str]:
    """Return the behaviours whose situation arose in one of these trials."""
    specs = [spec_of(registry.scenario(name), REFERENCE, seed) for name, seed in ARISE_IN]
    found = [situations(try_spec(spec)[0]) for spec in (*specs, throttled())]
    return frozenset(id for counted in found for id, count in counted.items() if count)


def test_every_situation_arises_or_is_listed_with_a_reason() -> None:
    assert not set(NEVER) - set(TRACED)
    assert set(TRACED) - set(NEVER) <= arisen()
    assert not arisen() & set(NEVER)


def test_bytes_must_be_kept_only_after_a_failed_attempt(story) -> None:
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    assert met.attempts_without_success(tale.evidence()) == 0
    tale.request([1], partition=0, at_ms=20)
    assert met.attempts_without_success(tale.evidence()) == 1
    tale.answer(0, -1, at_ms=21, error_code=7)
    assert met.attempts_without_success(tale.evidence()) == 1


def test_reported_offset_can_be_wrong(story) -> None:
    tale = story()
    tale.call(0, 1)
    tale.result(0, at_ms=10, offset=3)
    tale.result(1, at_ms=10)
    assert met.told_offsets(tale.evidence()) == 1
