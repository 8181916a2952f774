"""Grouping by cause: nothing is left out, nothing is told twice, nobody's failure is told as another's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.fingerprint import causes, decisive, document, findings, line, shape
from harness.outcome import Verdict
from harness.rows import FaultVerdict, Finding, RequirementVerdict, TrialVerdict

KINDS = st.frozensets(st.sampled_from(["latency", "disconnect", "dropped_response"]), max_size=3)
NAMES = st.sampled_from(["", " (A)", " (A, B)", " (B, C)", " (C)"])
MESSAGES = st.builds("{} {}{}".format, st.integers(0, 3), st.sampled_from(["records", "batches"]), NAMES)
REQUIREMENTS = st.lists(
    st.builds(
        RequirementVerdict,
        id=st.sampled_from(["PRD-1", "PRD-2", "PRD-3"]),
        level=st.sampled_from(["MUST", "SHOULD"]),
        verdict=st.sampled_from(["fail", "expected-fail"]),
        findings=st.lists(st.builds(Finding, st.sampled_from(["lost", "gave-up"]), MESSAGES), max_size=2).map(
            tuple
        ),
    ),
    max_size=3,
    unique_by=lambda requirement: requirement.id,
).map(tuple)
TRIALS = st.lists(
    st.builds(
        TrialVerdict,
        trial=st.integers(0, 1_000).map("t{}".format),
        client=st.sampled_from(["a@1", "a@2", "b@1"]),
        broker=st.just("local:1"),
        scenario=st.sampled_from(["produce/calm", "frame/torn"]),
        guarantee=st.just("idempotent"),
        seed=st.integers(0, 1),
        verdict=st.sampled_from([verdict.value for verdict in Verdict]),
        reason=MESSAGES,
        requirements=REQUIREMENTS,
        faults=KINDS.map(
            lambda kinds: tuple(FaultVerdict(kind, (0, 1), (0, 1), 1) for kind in sorted(kinds))
        ),
        attempt=st.integers(1, 2),
    ),
    max_size=12,
    unique_by=lambda verdict: verdict.trial,
)
ACCUSED = {Verdict.FAIL, Verdict.EXPECTED_FAIL}


def said_of(trial: TrialVerdict) -> dict[tuple[str, str], set[str]]:
    """What a trial is accused of, by anomaly and words, and the names that these list."""
    said: dict[tuple[str, str], set[str]] = {}
    for found in findings(trial):
        words, names = shape(found.finding.message)
        said.setdefault((found.finding.anomaly, words), set()).update(names)
    return said or {("", shape(trial.reason).words): set(shape(trial.reason).names)}


@given(TRIALS)
def test_every_finding_of_a_failing_trial_is_in_exactly_one_group(trials: list[TrialVerdict]) -> None:
    found = [(cause, trial) for cause in causes(trials) if cause.anomaly for trial in cause.trials]
    told = Counter((trial, cause.anomaly, shape(cause.message).words) for cause, trial in found)
    meant = Counter(
        (trial.trial, *said)
        for trial in trials
        if trial.verdict in ACCUSED and findings(trial)
        for said in said_of(trial)
    )
    assert told == meant


@given(TRIALS)
def test_every_trial_that_did_not_pass_is_told_under_its_verdict(trials: list[TrialVerdict]) -> None:
    told = {(trial, cause.verdict) for cause in causes(trials) if not cause.anomaly for trial in cause.trials}
    assert told == {
        (trial.trial, trial.verdict)
        for trial in trials
        if trial.verdict != Verdict.PASS and not (trial.verdict in ACCUSED and findings(trial))
    }


@given(TRIALS)
def test_a_group_is_of_one_client_one_anomaly_and_all_in_it_have_something_in_common(
    trials: list[TrialVerdict],
) -> None:
    by_name = {trial.trial: trial for trial in trials}
    for cause in causes(trials):
        members = [by_name[trial] for trial in cause.trials]
        assert {member.client for member in members} == {cause.client}
        words = shape(cause.message).words
        if cause.anomaly:
            names = [said_of(member)[cause.anomaly, words] for member in members]
        else:
            names = [set(shape(member.reason).names) for member in members]
            assert {shape(member.reason).words for member in members} == {words}
        assert set.intersection(*names) or not any(names)
        hit = [{fault.kind for fault in member.faults} for member in members]
        assert set(cause.faults) == set.intersection(*hit)
        assert cause.faults or not any(hit)
        assert cause.smallest in cause.trials


@given(TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_the_trials_does_not_matter(trials: list[TrialVerdict], random) -> None:
    shuffled = list(trials)
    random.shuffle(shuffled)
    assert causes(shuffled) == causes(trials)


@given(TRIALS)
def test_groups_of_one_verdict_have_fingerprints_of_their_own(trials: list[TrialVerdict]) -> None:
    found = Counter((cause.verdict, cause.fingerprint) for cause in causes(trials))
    assert not found or max(found.values()) == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("1 record not in the log", "1,204 records not in the log", True),
        ("3 records given up (REQUEST_TIMED_OUT)", "4 records given up (NETWORK_EXCEPTION)", False),
        ("batch 7 moved (PRD-SND-14)", "batch 9 moved (PRD-SND-14)", True),
        ("batch 7 moved (PRD-SND-14)", "batch 7 moved (PRD-SND-12)", False),
        ("20261122-041051-4077-3/0 went back", "20261123-071051-fa70-12/2 went back", True),
        ("no answer from 127.0.0.1:30001", "no answer from 127.0.0.1:27", True),
        ("p1 sent nothing", "p2 sent nothing", True),
        ("2 of 5 lost", "2 of 5 doubled", False),
    ],
)
def test_a_shape_has_no_numbers_and_keeps_the_names(one: str, other: str, alike: bool) -> None:
    assert (shape(one) == shape(other)) is alike


def test_trials_are_parted_by_the_fault_that_most_of_them_share(verdict) -> None:
    trials = [
        *(verdict("lost", seed=seed, hit=("dropped_response", "latency")) for seed in (1, 2)),
        verdict("lost", seed=3, hit=("dropped_response",)),
        verdict("lost", seed=4, hit=("disconnect",), idle=("dropped_response",)),
        verdict("lost", seed=5),
    ]
    assert [(cause.faults, len(cause.trials)) for cause in causes(trials)] == [
        (("dropped_response",), 3),
        *sorted([(("disconnect",), 1), ((), 1)], key=lambda each: _print_of(trials, each[0])),
    ]


def _print_of(trials: list[TrialVerdict], faults: tuple[str, ...]) -> str:
    return next(cause.fingerprint for cause in causes(trials) if cause.faults == faults)


def test_one_error_more_is_no_other_cause_and_another_error_is(verdict) -> None:
    errors = ("A_B", "A_B, C_D", "C_D", "E_F")
    trials = [
        verdict("lost", seed=seed, message=f"{seed} failed ({said})") for seed, said in enumerate(errors)
    ]
    assert sorted(len(cause.trials) for cause in causes(trials)) == [1, 1, 2]


def test_one_finding_of_two_requirements_is_told_once(verdict) -> None:
    trial = verdict("lost")
    lost = trial.requirements[1]
    trial = replace(trial, requirements=(*trial.requirements, replace(lost, id="R-again", level="SHOULD")))
    [cause] = causes([trial])
    assert (cause.requirements, cause.level) == (("R-again", "R-lost"), "MUST")


def test_the_line_says_who_what_after_which_fault_how_often(verdict) -> None:
    hit = ("dropped_response",)
    trials = [
        verdict("lost", client="kafkajs@2.2.4", scenario=scenario, seed=seed, hit=hit, sent=sent)
        for scenario, seed, sent in (("produce/a", 1, 20), ("produce/b", 1, 5), ("produce/b", 2, 30))
    ]
    [cause] = causes(trials)
    assert line(cause) == "kafkajs@2.2.4: lost after dropped response: 3 records (3 trials, 2 scenarios)"
    told = document(cause, Path("runs/one two"))
    assert told["replay"] == f"kafka-trial replay 'runs/one two/trials/{trials[1].trial}'"


def test_attempts_are_counted_where_the_same_was_tried_several_times(verdict) -> None:
    tried = [verdict(*(["lost"] if attempt % 2 else []), attempt=attempt) for attempt in range(1, 6)]
    [cause] = causes([*tried, verdict("lost", seed=2)])
    assert line(cause).endswith("(4 trials, 1 scenario; in 4 of 6 attempts)")
    [alone] = causes([verdict("lost"), verdict(seed=2)])
    assert line(alone).endswith("(1 trial, 1 scenario)")


def test_what_accuses_nobody_comes_behind_what_does_and_is_grouped_by_its_reason(verdict) -> None:
    trials = [
        verdict(seed=1, verdict="inconclusive", reason="gave-up: the machine stood still for 300 ms"),
        verdict(seed=2, verdict="inconclusive", reason="gave-up: the machine stood still for 40 ms"),
        verdict(seed=3, verdict="not-exercised", reason="fault 0 (latency) touched nothing"),
        verdict("lost", seed=4),
        verdict(seed=5, verdict="harness-error", reason="the client broke the contract"),
    ]
    assert [(cause.verdict, len(cause.trials)) for cause in causes(trials)] == [
        ("harness-error", 1),
        ("fail", 1),
        ("inconclusive", 2),
        ("not-exercised", 1),
    ]


def test_an_attempt_that_fails_stands_for_all(verdict) -> None:
    passed, failed = verdict(), verdict("lost", attempt=3)
    broken = verdict(verdict="harness-error", reason="no broker", attempt=2)
    assert decisive([passed, broken, failed]) == failed
    assert decisive([passed, broken]) == broken
    assert decisive([passed]) == passed
