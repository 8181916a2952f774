"""Grouping by cause: every finding is in exactly one group, and no failure is attributed to another client."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.judging.fingerprint import causes, decisive, document, findings, kind_of, line
from harness.model.rows import FaultVerdict, Finding, RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict

KINDS = st.frozensets(st.sampled_from(["latency", "disconnect", "dropped_response"]), max_size=3)
NAMES = st.sampled_from([(), ("A",), ("A", "B"), ("B", "C"), ("C",)])
PARAMS = st.fixed_dictionaries(
    {"errors": NAMES}, optional={"of": st.sampled_from(["lost", "late"]), "worst_ms": st.integers(0, 3)}
)
FINDINGS = st.builds(
    Finding,
    anomaly=st.sampled_from(["lost", "gave-up"]),
    message=st.just("told"),
    requirement=st.just(""),
    params=PARAMS,
    level=st.just("MUST"),
    explains=st.just(()),
)
REQUIREMENTS = st.lists(
    st.builds(
        RequirementVerdict,
        id=st.sampled_from(["PRD-1", "PRD-2", "PRD-3"]),
        level=st.sampled_from(["MUST", "SHOULD"]),
        verdict=st.sampled_from(["fail", "expected-fail"]),
        findings=st.lists(FINDINGS, max_size=2).map(tuple),
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
        reason=st.just("told"),
        code=st.sampled_from(["client-stalled", "fault-hit-nothing"]),
        params=PARAMS,
        requirements=REQUIREMENTS,
        faults=KINDS.map(
            lambda kinds: tuple(FaultVerdict(kind, (0, 1), (0, 1), 1) for kind in sorted(kinds))
        ),
        attempt=st.integers(1, 2),
    ),
    max_size=12,
    unique_by=lambda verdict: verdict.trial,
)
ACCUSED = {Verdict.FAIL, Verdict.EXPECTED_FAIL, Verdict.DIFFERS}
#: With --level must, a trial also lists the differences that do not count.
JUDGED = ACCUSED | {Verdict.PASS, Verdict.NOT_EXERCISED}
Said = tuple[str, tuple[tuple[str, str], ...]]


def said_of(trial: TrialVerdict) -> dict[Said, set[str]]:
    """Return the findings of a trial: their codes and values, each with the names that it lists."""
    said: dict[Said, set[str]] = {}
    for found in findings(trial):
        kind = kind_of(found.finding.anomaly, found.finding.params)
        said.setdefault((kind.code, kind.values), set()).update(kind.names)
    kind = kind_of(trial.code, trial.params)
    return said or {(kind.code, kind.values): set(kind.names)}


@given(TRIALS)
def test_every_finding_of_a_judged_trial_is_in_exactly_one_group(trials: list[TrialVerdict]) -> None:
    found = [(cause, trial) for cause in causes(trials) if cause.anomaly for trial in cause.trials]
    told = Counter((trial, cause.code) for cause, trial in found)
    meant = Counter(
        (trial.trial, code)
        for trial in trials
        if trial.verdict in JUDGED and findings(trial)
        for code, _ in said_of(trial)
    )
    assert told == meant


@given(TRIALS)
def test_every_other_trial_that_did_not_pass_is_grouped_by_its_verdict(trials: list[TrialVerdict]) -> None:
    told = {(trial, cause.verdict) for cause in causes(trials) if not cause.anomaly for trial in cause.trials}
    assert told == {
        (trial.trial, trial.verdict)
        for trial in trials
        if trial.verdict != Verdict.PASS and not (trial.verdict in ACCUSED and findings(trial))
    }


@given(TRIALS)
def test_a_group_shares_client_code_and_faults(
    trials: list[TrialVerdict],
) -> None:
    by_name = {trial.trial: trial for trial in trials}
    for cause in causes(trials):
        members = [by_name[trial] for trial in cause.trials]
        assert {member.client for member in members} == {cause.client}
        codes = [{code for code, _ in said_of(member)} | {member.code} for member in members]
        assert all(cause.code in said for said in codes)
        hit = [{fault.kind for fault in member.faults} for member in members]
        assert set(cause.faults) == set.intersection(*hit)
        assert cause.smallest in cause.trials


@given(TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_the_trials_does_not_matter(trials: list[TrialVerdict], random) -> None:
    shuffled = list(trials)
    random.shuffle(shuffled)
    assert causes(shuffled) == causes(trials)


@given(TRIALS)
def test_groups_of_one_verdict_have_different_fingerprints(trials: list[TrialVerdict]) -> None:
    found = Counter((cause.verdict, cause.fingerprint) for cause in causes(trials))
    assert not found or max(found.values()) == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"count": 1}, {"count": 1_204}, True),
        ({"behaviour": "PRD-SND-14"}, {"behaviour": "PRD-SND-12"}, False),
        ({"worst_ms": 7, "of": "lost"}, {"worst_ms": 9, "of": "lost"}, True),
        ({"errors": ("A", "B")}, {"errors": ("B", "A")}, True),
    ],
)
def test_a_kind_ignores_numbers_and_keeps_names(one, other, alike) -> None:
    assert (kind_of("lost", one) == kind_of("lost", other)) is alike
    assert kind_of("lost", one) != kind_of("late", one)


def test_one_defect_after_many_faults_is_one_cause(verdict) -> None:
    trials = [
        verdict("lost", seed=seed, hit=hit)
        for seed, hit in enumerate([("reset", "latency"), ("latency",), ("latency", "refuse")])
    ]
    [cause] = causes(trials)
    assert (len(cause.trials), cause.faults) == (3, ("latency",))


def test_an_explained_finding_is_not_a_separate_cause(verdict) -> None:
    trial = verdict("lost", "sequence-reused", "gave-up")
    explaining = tuple(
        replace(each, findings=tuple(replace(one, explains=("lost",)) for one in each.findings))
        if each.id == "R-sequence-reused"
        else each
        for each in trial.requirements
    )
    found = causes([replace(trial, requirements=explaining)])
    assert {cause.anomaly: cause.explains for cause in found} == {"sequence-reused": ("lost",), "gave-up": ()}


def test_a_difference_beside_a_failure_remains_a_difference(verdict) -> None:
    trial = verdict("lost")
    lost = trial.requirements[1]
    beside = replace(lost.findings[0], anomaly="avoidable-duplicate", level="SHOULD")
    both = replace(lost, findings=(*lost.findings, beside))
    found = causes([replace(trial, requirements=(trial.requirements[0], both))])
    assert {cause.anomaly: cause.verdict for cause in found} == {
        "lost": "fail",
        "avoidable-duplicate": "differs",
    }


def test_an_additional_error_is_the_same_cause_and_another_error_is_not(verdict) -> None:
    errors = (("A_B",), ("A_B", "C_D"), ("C_D",), ("E_F",))
    trials = [verdict("lost", seed=seed, params={"errors": said}) for seed, said in enumerate(errors)]
    assert sorted(len(cause.trials) for cause in causes(trials)) == [1, 1, 2]


def test_a_finding_of_two_requirements_is_reported_once(verdict) -> None:
    trial = verdict("lost")
    lost = trial.requirements[1]
    trial = replace(trial, requirements=(*trial.requirements, replace(lost, id="R-again", level="SHOULD")))
    [cause] = causes([trial])
    assert (cause.requirements, cause.level) == (("R-again", "R-lost"), "MUST")


def test_the_line_of_a_cause_names_client_anomaly_fault_and_counts(verdict) -> None:
    hit = ("dropped_response",)
    trials = [
        verdict("lost", client="kafkajs@2.2.4", scenario=scenario, seed=seed, hit=hit, sent=sent)
        for scenario, seed, sent in (("produce/a", 1, 20), ("produce/b", 1, 5), ("produce/b", 2, 30))
    ]
    [cause] = causes(trials)
    assert line(cause) == "kafkajs@2.2.4: lost after dropped response: 3 records (3 trials, 2 scenarios)"
    told = document(cause, Path("runs/one two"))
    assert told["replay"] == f"kafka-trial replay 'runs/one two/trials/{trials[1].trial}'"


def test_repeated_attempts_are_counted(verdict) -> None:
    tried = [verdict(*(["lost"] if attempt % 2 else []), attempt=attempt) for attempt in range(1, 6)]
    [cause] = causes([*tried, verdict("lost", seed=2)])
    assert line(cause).endswith("(4 trials, 1 scenario; in 4 of 6 attempts)")
    [alone] = causes([verdict("lost"), verdict(seed=2)])
    assert line(alone).endswith("(1 trial, 1 scenario)")


def test_verdicts_without_findings_are_grouped_by_reason_in_order_of_severity(verdict) -> None:
    trials = [
        verdict(seed=1, verdict="inconclusive", code="client-stalled", params={"stalled_ms": 300}),
        verdict(seed=2, verdict="inconclusive", code="client-stalled", params={"stalled_ms": 40}),
        verdict(seed=3, verdict="not-exercised", code="fault-hit-nothing"),
        verdict("lost", seed=4),
        verdict(seed=5, verdict="harness-error", code="not-collected"),
    ]
    assert [(cause.verdict, len(cause.trials)) for cause in causes(trials)] == [
        ("harness-error", 1),
        ("fail", 1),
        ("inconclusive", 2),
        ("not-exercised", 1),
    ]


def test_a_failed_attempt_is_decisive(verdict) -> None:
    passed, failed = verdict(), verdict("lost", attempt=3)
    broken = verdict(verdict="harness-error", reason="no broker", attempt=2)
    assert decisive([passed, broken, failed]) == failed
    assert decisive([passed, broken]) == broken
    assert decisive([passed]) == passed
