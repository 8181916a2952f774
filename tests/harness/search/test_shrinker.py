"""Shrinking an intermittent failure: the number of attempts, and the claims about the result."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.dice import Dice
from harness.model.rows import Finding, RequirementVerdict, TrialVerdict
from harness.model.spec import AtTime, ClientRef, FaultSpec, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.search.shrink_passes import without_each
from harness.search.shrinker import MOST_STARTS, STARTS, STEADY, Rate, Shrinker
from harness.search.trial_batches import FailureCriterion, GrowingRun, TrialBatches
from harness.storage.run_store import RunStore

Oracle = Callable[[TrialSpec], Verdict]


def trial(count: int = 4) -> TrialSpec:
    faults = tuple(FaultSpec(f"fault-{number}", AtTime(0), 0) for number in range(count))
    load = Workload(records=120)
    return TrialSpec(
        "t", ClientRef("c", "1"), "local:4.3.1x1", "s", Guarantee.IDEMPOTENT, 1, load, faults, {}
    )


def needs(*kinds: str) -> Callable[[TrialSpec], bool]:
    return lambda spec: set(kinds) <= {fault.kind for fault in spec.faults}


def always(fails: Callable[[TrialSpec], bool]) -> Oracle:
    return lambda spec: Verdict.FAIL if fails(spec) else Verdict.PASS


def now_and_then(fails: Callable[[TrialSpec], bool], times: Iterator[bool]) -> Oracle:
    return lambda spec: Verdict.FAIL if fails(spec) and next(times) else Verdict.PASS


class World:
    """Trials whose outcomes an oracle decides; the budget is used up after ``stop_at`` trials."""

    def __init__(self, tmp_path, oracle: Oracle, anomaly: str = "lost", stop_at: int | None = None) -> None:
        self.store = RunStore.create(tmp_path, new_record(Plan(1, ()), Options(1)))
        self.ran: list[TrialSpec] = []
        self.waves: list[int] = []
        self.run = GrowingRun(self.store, self._carry_out)
        self._oracle, self._anomaly, self._stop_at = oracle, anomaly, stop_at

    async def _carry_out(self) -> None:
        specs = [spec for spec in self.store.record.plan.trials if not self.store.finished(spec.trial)]
        self.waves.append(len(specs))
        for spec in specs:
            if len(self.ran) == self._stop_at:
                return
            self.ran.append(spec)
            self.store.write_verdict(self._verdict(spec))

    def _verdict(self, spec: TrialSpec) -> TrialVerdict:
        of = self._oracle(spec)
        found = (Finding(self._anomaly, "it happened"),) if of is Verdict.FAIL else ()
        required = (RequirementVerdict("X-01", "MUST", of, found),)
        return TrialVerdict(spec.trial, "c@1", "b", "s", "idempotent", 1, of, "", required)

    def shrinker(self, spec: TrialSpec, *, jobs: int = 1, wanted=(), **settings) -> Shrinker:
        shrinker = Shrinker(spec, wanted, lambda _: True, TrialBatches(self.run, jobs), **settings)
        asyncio.run(shrinker.run())
        return shrinker


def left(shrinker: Shrinker) -> list[str]:
    return [fault.kind for fault in shrinker.minimal.faults]


def test_a_steady_failure_needs_one_attempt_per_candidate(tmp_path) -> None:
    shrinker = World(tmp_path, always(needs("fault-2"))).shrinker(trial(12))
    assert (shrinker.anomaly, shrinker.attempts, left(shrinker)) == ("lost", 1, ["fault-2"])
    assert shrinker.confirmed == Rate(3, 3) and shrinker.is_one_minimal
    # The original, none and each alone, which include the comparisons for the last fault; then the confirmation.
    assert shrinker.batches.trials == STARTS + 13 + STARTS
    assert shrinker.rounds == 1


def test_a_failure_in_every_third_attempt_is_tried_often_enough(tmp_path) -> None:
    world = World(tmp_path, now_and_then(needs("fault-1"), cycle([False, False, True])))
    shrinker = world.shrinker(trial())
    assert shrinker.attempts == 8
    assert left(shrinker) == ["fault-1"] and shrinker.is_one_minimal
    assert shrinker.confirmed is not None and 0 < shrinker.confirmed.failed < shrinker.confirmed.tried
    tried = Counter(tuple(fault.kind for fault in spec.faults) for spec in world.ran)
    assert tried[()] == 8


def test_a_failure_that_does_not_recur_has_no_result(tmp_path) -> None:
    shrinker = World(tmp_path, always(lambda _: False)).shrinker(trial())
    assert shrinker.anomaly == "" and shrinker.confirmed is None
    assert shrinker.batches.trials == MOST_STARTS


def test_another_anomaly_is_not_the_same_failure(tmp_path) -> None:
    shrinker = World(tmp_path, always(lambda _: True), anomaly="reordered").shrinker(trial(), wanted=["lost"])
    assert shrinker.anomaly == ""


def test_a_chance_failure_is_not_the_answer(tmp_path) -> None:
    """A smaller schedule fails once by chance, and the search continues without it."""
    once = iter([True])

    def oracle(spec: TrialSpec) -> Verdict:
        kinds = {fault.kind for fault in spec.faults}
        fails = {"fault-1", "fault-2"} <= kinds or (kinds == {"fault-0"} and next(once, False))
        return Verdict.FAIL if fails else Verdict.PASS

    shrinker = World(tmp_path, oracle).shrinker(trial(3))
    assert left(shrinker) == ["fault-1", "fault-2"]
    assert shrinker.confirmed == Rate(3, 3) and shrinker.is_one_minimal


def test_one_minimality_is_claimed_only_with_enough_attempts(tmp_path) -> None:
    """Without faults the trials are inconclusive, which supports no claim."""

    def oracle(spec: TrialSpec) -> Verdict:
        return always(needs("fault-1"))(spec) if spec.faults else Verdict.INCONCLUSIVE

    world = World(tmp_path, oracle)
    shrinker = world.shrinker(trial(2))
    assert left(shrinker) == ["fault-1"] and shrinker.confirmed == Rate(3, 3)
    assert not shrinker.is_one_minimal
    assert sum(not spec.faults for spec in world.ran) == 2


def test_a_simpler_trial_must_fail_as_steadily(tmp_path) -> None:
    """Shorter than half a second it fails every other time, which would suffice for the confirmation."""

    def oracle(spec: TrialSpec) -> Verdict:
        fails = spec.faults and (spec.faults[0].duration_ms >= 500 or spec.attempt % 2)
        return Verdict.FAIL if fails else Verdict.PASS

    long = replace(trial(1), faults=(FaultSpec("fault-0", AtTime(0), 1_000),))
    shrinker = World(tmp_path, oracle).shrinker(long)
    assert shrinker.minimal.faults[0].duration_ms == 500
    assert shrinker.confirmed == Rate(3, 3)


def test_a_reduction_that_was_steady_by_chance_is_undone(tmp_path) -> None:
    """The slightly shorter trial always fails and remains; the much shorter one fails twice and never again."""

    def oracle(spec: TrialSpec) -> Verdict:
        fails = spec.faults and (spec.faults[0].duration_ms >= 400 or spec.attempt <= STEADY)
        return Verdict.FAIL if fails else Verdict.PASS

    load = Workload(records=4 * Workload().records_per_command)
    long = replace(trial(1), faults=(FaultSpec("fault-0", AtTime(0), 1_000),), workload=load)
    shrinker = World(tmp_path, oracle).shrinker(long)
    assert (
        shrinker.minimal.faults[0].duration_ms == 500
        and shrinker.minimal.workload.records == 2 * load.records_per_command
    )
    assert shrinker.confirmed == Rate(3, 3) and shrinker.is_one_minimal


def test_a_rarer_failure_than_expected_is_tried_more_often(tmp_path) -> None:
    """With three faults or more it fails at first, then in two of three attempts; with fewer in every other one."""

    def oracle(spec: TrialSpec) -> Verdict:
        many = len(spec.faults) >= 3 and (spec.attempt < 3 or spec.attempt % 3 > 0)
        comes = many or (len(spec.faults) < 3 and spec.attempt % 2 == 0)
        return Verdict.FAIL if needs("fault-1")(spec) and comes else Verdict.PASS

    full = trial(3)
    world = World(tmp_path, lambda spec: Verdict.FAIL if len(spec.faults) == 5 else oracle(spec))
    shrinker = world.shrinker(trial(5))
    assert shrinker.rate(shrinker.original) == Rate(3, 3)
    assert left(shrinker) == ["fault-1"] and shrinker.attempts > 1 and shrinker.is_one_minimal
    given = World(tmp_path / "given", oracle).shrinker(full, given=1)
    assert given.attempts == 1 and len(left(given)) == 3


def test_without_tiers_only_faults_are_removed(tmp_path) -> None:
    long = FaultSpec("fault-0", AtTime(500), 1_000)
    spec = replace(trial(5), faults=(*trial(5).faults[1:], long))
    shrinker = World(tmp_path, always(needs("fault-0"))).shrinker(spec, tiers=())
    assert shrinker.minimal == replace(spec, faults=(long,))


@pytest.mark.parametrize("stop_at", [1, 4, 5, 8, 13, 18])
def test_a_used_up_budget_leaves_the_smallest_trial_so_far(tmp_path, stop_at: int) -> None:
    world = World(tmp_path, always(needs("fault-3")), stop_at=stop_at)
    shrinker = world.shrinker(trial(12))
    assert len(world.ran) == stop_at
    assert shrinker.ran_out and shrinker.confirmed is None
    assert left(shrinker) == ["fault-3"] if stop_at >= 8 else shrinker.minimal == shrinker.original


def test_a_less_steady_trial_is_not_the_result_of_a_used_up_budget(tmp_path) -> None:
    """The shorter trial fails in the first attempt and not in the second."""

    def oracle(spec: TrialSpec) -> Verdict:
        fails = spec.faults and (spec.faults[0].duration_ms == 1_000 or spec.attempt == 1)
        return Verdict.FAIL if fails else Verdict.PASS

    load = Workload(records=4 * Workload().records_per_command)
    long = replace(trial(1), faults=(FaultSpec("fault-0", AtTime(0), 1_000),), workload=load)
    # The original, none, and each of the four shorter ones twice.
    shrinker = World(tmp_path, oracle, stop_at=STARTS + 1 + 4 * STEADY).shrinker(long)
    assert shrinker.ran_out and shrinker.minimal.faults == long.faults


@given(st.integers(2, 10), st.integers(1, 6), st.integers(0, 2**32))
def test_every_claim_is_supported_by_the_trials(failing: int, count: int, seed: int) -> None:
    """A trial with fault-0 fails ``failing`` times in ten, at random."""
    outcomes: dict[str, Verdict] = {}

    def oracle(spec: TrialSpec) -> Verdict:
        chance = Dice(seed, spec.trial).between(1, 10) <= failing
        outcomes[spec.trial] = always(needs("fault-0"))(spec) if chance else Verdict.PASS
        return outcomes[spec.trial]

    with TemporaryDirectory() as folder:
        world = World(Path(folder), oracle)
        shrinker = world.shrinker(trial(count))
    if shrinker.anomaly:
        assert shrinker.confirmed is not None and 0 < shrinker.confirmed.failed <= shrinker.confirmed.tried
        assert "fault-0" in left(shrinker)
        tried = {
            name: [outcomes[spec.trial] for spec in world.ran if spec.faults == fewer.faults]
            for name, fewer in zip(left(shrinker), without_each(shrinker.minimal), strict=True)
        }
        shown = all(len(each) >= shrinker.attempts and Verdict.FAIL not in each for each in tried.values())
        assert shrinker.is_one_minimal == shown
    else:
        assert len(world.ran) == MOST_STARTS and Verdict.FAIL not in outcomes.values()


def test_attempts_are_separate_concurrent_trials(tmp_path) -> None:
    world = World(tmp_path, always(lambda _: False))
    batches = TrialBatches(world.run, jobs=8)
    two = [trial(1), trial(2)]
    assert asyncio.run(batches.failing(two, "lost", FailureCriterion(6))) == [False, False]
    assert world.waves == [8, 4]
    assert len({spec.trial for spec in world.ran}) == 12
    assert Counter(spec.attempt for spec in world.ran) == dict.fromkeys(range(1, 7), 2)
    assert asyncio.run(batches.failing(two, "lost", FailureCriterion(6))) == [False, False]
    assert len(world.ran) == 12


def test_the_first_failure_ends_the_batch(tmp_path) -> None:
    world = World(tmp_path, always(needs("fault-1")))
    batches = TrialBatches(world.run, jobs=2)
    found = asyncio.run(batches.failing([trial(1), trial(2)], "lost", FailureCriterion(9), any_will_do=True))
    assert found == [False, True] and len(world.ran) == 2
