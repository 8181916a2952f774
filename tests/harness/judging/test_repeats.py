"""Attempts and shards: no trial is lost or doubled, and every attempt refers to the first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.repeats import attempt_of, deflaked, first_name, repeated, shard
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee


def spec(number: int) -> TrialSpec:
    name = f"t-{number}"
    return TrialSpec(name, ClientRef("c", "1"), "b:1", "s", Guarantee.IDEMPOTENT, number, Workload(), (), {})


def plan_of(size: int) -> Plan:
    return Plan(1, tuple(spec(number) for number in range(size)))


def verdict_of(trial: TrialSpec, verdict: str) -> TrialVerdict:
    return TrialVerdict(trial.trial, "c@1", "b:1", "s", "idempotent", trial.seed, verdict, "")


sizes = st.integers(0, 12)


@given(sizes, st.integers(1, 5))
def test_every_attempt_of_a_trial_has_its_own_name(size, times):
    plan = repeated(plan_of(size), times)
    assert len({each.trial for each in plan.trials}) == len(plan.trials) == size * times
    assert [each.trial for each in plan.trials[:size]] == [each.trial for each in plan_of(size).trials]
    for first in plan_of(size).trials:
        mine = [each for each in plan.trials if first_name(each) == first.trial]
        assert [each.attempt for each in mine] == list(range(1, times + 1))


@given(st.integers(1, 9), st.integers(1, 9))
def test_an_attempt_of_an_attempt_belongs_to_the_first(one, other):
    assert attempt_of(attempt_of(spec(1), one), other) == attempt_of(spec(1), other)
    assert attempt_of(spec(1), 1) == spec(1)


@given(sizes, st.integers(1, 5))
def test_the_shards_together_are_the_plan(size, of):
    plan = plan_of(size)
    parts = [shard(plan, number, of).trials for number in range(1, of + 1)]
    assert sorted(each.seed for part in parts for each in part) == list(range(size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(
    st.lists(st.sampled_from(["pass", "fail", "inconclusive", "unexpected-pass"]), max_size=8),
    st.integers(1, 4),
)
def test_only_failed_trials_are_tried_again(outcomes, times):
    plan = plan_of(len(outcomes))
    verdicts = [verdict_of(each, outcome) for each, outcome in zip(plan.trials, outcomes, strict=True)]
    more = deflaked(plan, verdicts, times)
    assert more.trials[: len(outcomes)] == plan.trials
    again = more.trials[len(outcomes) :]
    accused = [
        each
        for each, outcome in zip(plan.trials, outcomes, strict=True)
        if outcome in ("fail", "unexpected-pass")
    ]
    assert len(again) == len(accused) * (times - 1)
    assert {first_name(each) for each in again} <= {each.trial for each in accused}
    # A run that was killed in between resumes and adds no attempt a second time.
    assert deflaked(more, verdicts, times) == more


def test_a_failed_second_attempt_causes_no_third():
    plan = repeated(plan_of(1), 2)
    verdicts = [
        verdict_of(each, outcome) for each, outcome in zip(plan.trials, ["pass", "fail"], strict=True)
    ]
    assert deflaked(plan, verdicts, 3) == plan


@pytest.mark.parametrize("attempt", [1, 2, 13])
def test_the_name_of_an_attempt_is_one_path_component(attempt):
    assert "/" not in attempt_of(spec(1), attempt).trial
