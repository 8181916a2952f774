"""A behaviour is held where its situation arose: not in a calm trial, and somewhere in the generated ones."""

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
#: What a trial without any fault is about, of all that the trace checks judge.
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
def test_in_a_calm_trial_nothing_about_faults_is_held(seed: int) -> None:
    verdict = tried("produce/calm", seed)
    assert verdict.verdict == "pass"
    assert held(verdict) & (set(TRACED) | {"PRD-ACC-12", "PRD-EXP-01", "PRD-IDM-12"}) <= CALM
    absent = {each.id for each in verdict.requirements if each.verdict == "not-exercised"}
    assert {"PRD-SPL-01", "PRD-EXP-01", "NET-CON-05", "NET-CON-12", "NET-INF-06", "PRD-SND-02"} <= absent


#: Generated trials in which, together, all of them arise that can.
ARISE_IN = (
    ("generated/any", 464),
    ("generated/any", 273),
    ("generated/any", 140),
    ("generated/any", 122),
    ("broker/smaller-batches", 0),
)


def throttled() -> TrialSpec:
    """One that is too rare at random: a broker asks for a pause while requests wait on the same connection."""
    spec = spec_of(registry.scenario("generated/any"), REFERENCE, 0, "scripted:4.3.1x1")
    load = Workload(records=600, records_per_command=60, interval_ms=100, partitions=3, value_bytes=160)
    settings = {"linger.ms": 0, "batch.size": 512, "max.in.flight.requests.per.connection": 5}
    fault = FaultSpec("throttle", AtTime(0), 1_000, {"throttle_ms": 300})
    return restruct(spec, workload=load, faults=(fault,), config=spec.config | settings)


@cache
def arisen() -> frozenset[str]:
    """The behaviours whose situation arose in one of these trials."""
    specs = [spec_of(registry.scenario(name), REFERENCE, seed) for name, seed in ARISE_IN]
    found = [situations(try_spec(spec)[0]) for spec in (*specs, throttled())]
    return frozenset(id for counted in found for id, count in counted.items() if count)


def test_every_situation_arises_somewhere_or_is_listed_with_the_reason() -> None:
    assert not set(NEVER) - set(TRACED)
    assert set(TRACED) - set(NEVER) <= arisen()
    assert not arisen() & set(NEVER)


def test_only_after_an_attempt_that_failed_are_bytes_still_to_be_kept(story) -> None:
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    assert met.attempts_without_success(tale.evidence()) == 0
    tale.request([1], partition=0, at_ms=20)
    assert met.attempts_without_success(tale.evidence()) == 1
    tale.answer(0, -1, at_ms=21, error_code=7)
    assert met.attempts_without_success(tale.evidence()) == 1


def test_an_offset_that_is_told_can_be_wrong(story) -> None:
    tale = story()
    tale.call(0, 1)
    tale.result(0, at_ms=10, offset=3)
    tale.result(1, at_ms=10)
    assert met.told_offsets(tale.evidence()) == 1
