"""Known failures:

a listed failure is expected, any other is a fail, and a listed trial that passes is reported.
"""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.baseline import KnownFailure, apply, bare
from harness.baseline.upkeep import contradicted, missing, unneeded
from harness.judging.fingerprint import causes
from harness.model.rows import Finding, RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict

CLIENTS, SCENARIOS = ("a@1", "a@2", "b@1"), ("produce/calm", "produce/cut", "frame/torn")
GUARANTEES, CHECKS = ("idempotent", "at-least-once"), ("lost", "duplicate")


def known(client: str = "c@1", anomaly: str | None = "lost", **values) -> KnownFailure:
    return KnownFailure(client=client, reason="it says so", anomaly=anomaly, **values)


def test_a_listed_failure_is_expected_with_its_reason(verdict) -> None:
    told = apply(verdict("lost"), [known(url="https://a.example/1")])
    assert (told.verdict, told.reason) == ("expected-fail", "known: it says so (https://a.example/1)")
    assert [each.verdict for each in told.requirements] == ["pass", "expected-fail"]


def test_an_unlisted_finding_makes_the_trial_fail(verdict) -> None:
    told = apply(verdict("lost", "duplicate"), [known()])
    assert told.verdict == "fail" and told.reason == verdict("lost", "duplicate").reason
    assert [each.verdict for each in told.requirements] == ["fail", "expected-fail"]


@pytest.mark.parametrize(
    "entry",
    [
        known("c@*"),
        known("c@1", scenario="produce/*"),
        known(guarantee="idempotent"),
        known(level="MUST"),
        known(anomaly=None, requirement="R-lost"),
        known(requirement="R-lost"),
        known(flaky=True),
    ],
)
def test_an_entry_covers_the_trials_that_its_patterns_match(verdict, entry) -> None:
    assert apply(verdict("lost"), [entry]).verdict == "expected-fail"


@pytest.mark.parametrize(
    "entry",
    [
        known("c@2"),
        known(scenario="frame/*"),
        known(guarantee="at-least-once"),
        known(level="SHOULD"),
        known(anomaly=None, requirement="R-duplicate"),
        known(requirement="R-duplicate"),
        known(anomaly="duplicate"),
    ],
)
def test_an_entry_that_does_not_match_covers_nothing(verdict, entry) -> None:
    assert apply(verdict("lost"), [replace(entry, flaky=True)]).verdict == "fail"


def test_an_entry_covers_a_finding_under_each_violated_requirement(verdict) -> None:
    trial = verdict("lost")
    trial = replace(
        trial, requirements=(*trial.requirements, replace(trial.requirements[1], id="R-more", level="SHOULD"))
    )
    assert apply(trial, [known(anomaly=None, requirement="R-more")]).verdict == "expected-fail"


def test_a_listed_failure_that_passes_is_an_unexpected_pass(verdict) -> None:
    told = apply(verdict(), [known()])
    assert told.verdict == "unexpected-pass"
    assert told.reason == "c@1 lost in * is a known failure, but did not occur: it says so"
    assert apply(verdict(), [known(flaky=True)]).verdict == "pass"


def test_an_unjudged_anomaly_is_not_an_unexpected_pass(verdict) -> None:
    assert apply(verdict(checks=["duplicate"]), [known()]).verdict == "pass"


def test_a_known_failure_does_not_hide_an_unexpected_pass_of_another(verdict) -> None:
    told = apply(verdict("lost"), [known(), known(anomaly="duplicate")])
    assert told.verdict == "unexpected-pass" and "duplicate" in told.reason


@pytest.mark.parametrize("other", ["inconclusive", "not-exercised", "harness-error", "unsupported"])
def test_a_verdict_without_evidence_is_unchanged(verdict, other) -> None:
    trial = verdict(verdict=other, reason="the machine stood still")
    assert apply(trial, [known()]) == trial


def test_a_fail_without_a_finding_is_never_expected(verdict) -> None:
    trial = replace(verdict(), verdict="fail", requirements=(RequirementVerdict("R-lost", "MUST", "fail"),))
    assert apply(trial, [known()]).verdict == "fail"


def test_an_entry_expires_after_its_last_day() -> None:
    entry = known(expires=date(2026, 5, 1))
    assert not entry.expired(date(2026, 5, 1)) and entry.expired(date(2026, 5, 2))
    assert not known().expired(date(9999, 1, 1))


TRIALS = st.lists(
    st.tuples(
        st.sampled_from(CLIENTS),
        st.sampled_from(SCENARIOS),
        st.sampled_from(GUARANTEES),
        st.integers(1, 2),
        st.sets(st.sampled_from(CHECKS)),
        st.sets(st.sampled_from(CHECKS), min_size=1),
    ),
    max_size=14,
    unique_by=lambda trial: trial[:4],
)
ENTRIES = st.lists(
    st.builds(
        known,
        client=st.sampled_from([*CLIENTS, "a@*"]),
        anomaly=st.sampled_from(CHECKS),
        scenario=st.sampled_from([*SCENARIOS, "produce/*", "*"]),
        guarantee=st.none() | st.sampled_from(GUARANTEES),
        flaky=st.booleans(),
    ),
    max_size=4,
)


@pytest.fixture(scope="session")
def trials_of(verdict):
    """Return a function that makes verdicts of drawn trials: their place, their violations and their checks."""

    def made(drawn) -> list[TrialVerdict]:
        return [
            verdict(
                *sorted(anomalies & checks),
                client=client,
                scenario=scenario,
                guarantee=guarantee,
                seed=seed,
                checks=checks,
            )
            for client, scenario, guarantee, seed, anomalies, checks in drawn
        ]

    return made


@given(TRIALS, ENTRIES)
def test_applying_is_idempotent_and_reversible(trials_of, drawn, entries) -> None:
    for trial in trials_of(drawn):
        told = apply(trial, entries)
        assert apply(told, entries) == told
        plain = bare(told)
        assert (plain.verdict, plain.requirements) == (trial.verdict, trial.requirements)
        assert plain.verdict == Verdict.PASS or plain.reason == trial.reason
        assert apply(trial, []) == trial


@given(TRIALS, ENTRIES)
def test_added_entries_cover_every_failure_and_contradict_no_trial(trials_of, drawn, entries) -> None:
    trials = trials_of(drawn)
    added = missing(trials, entries, "found")
    after = [apply(trial, [*entries, *added]) for trial in trials]
    assert Verdict.FAIL not in {trial.verdict for trial in after}
    assert contradicted(trials, added) == {}
    assert missing(trials, [*entries, *added], "found") == []


@given(TRIALS, ENTRIES)
def test_every_added_entry_is_needed(trials_of, drawn, entries) -> None:
    trials = trials_of(drawn)
    added = missing(trials, entries, "found")
    for entry in added:
        others = [*entries, *(each for each in added if each != entry)]
        assert Verdict.FAIL in {apply(trial, others).verdict for trial in trials}


@given(TRIALS, ENTRIES)
def test_an_added_entry_makes_no_trial_an_unexpected_pass(trials_of, drawn, entries) -> None:
    trials = trials_of(drawn)
    for entry in missing(trials, entries, "found"):
        places = {(trial.client, trial.scenario, trial.guarantee) for trial in trials}
        for place in places:
            here = [trial for trial in trials if (trial.client, trial.scenario, trial.guarantee) == place]
            expected = [trial for trial in here if apply(trial, [entry]).verdict == "unexpected-pass"]
            assert not expected


@given(TRIALS, ENTRIES)
def test_removing_unneeded_entries_makes_no_trial_fail(trials_of, drawn, entries) -> None:
    trials = trials_of(drawn)
    gone = unneeded(trials, entries)
    kept = [entry for place, entry in enumerate(entries) if place not in gone]
    assert unneeded(trials, kept) == []
    for trial in trials:
        assert apply(trial, entries).verdict == Verdict.FAIL or apply(trial, kept).verdict != Verdict.FAIL


def test_a_pattern_covers_several_failures_and_no_pass(verdict) -> None:
    failing = [
        verdict("lost", scenario=scenario, guarantee=guarantee)
        for scenario in ("produce/calm", "produce/cut")
        for guarantee in GUARANTEES
    ]
    [entry] = missing(failing, [], "found by run r")
    assert (str(entry), entry.flaky) == ("c@1 lost in produce/*", False)
    assert entry.reason == "not looked into yet; found by run r: 3 records"
    holds = verdict(scenario="produce/calm", guarantee="at-least-once", seed=2)
    told = {str(entry): entry.flaky for entry in missing([*failing, holds], [], "found")}
    assert told == {
        "c@1 lost in produce/calm under at-least-once": True,
        "c@1 lost in produce/calm under idempotent": False,
        "c@1 lost in produce/cut": False,
    }


def test_two_versions_with_the_same_failure_need_one_entry(verdict) -> None:
    [entry] = missing([verdict("lost", client="c@1"), verdict("lost", client="c@2")], [], "found")
    assert entry.client == "c@*"


def test_an_anomaly_not_named_after_its_check_is_listed_with_its_requirement(verdict) -> None:
    odd = (Finding("hung-call", "flush never came back"),)
    trial = replace(
        verdict(),
        verdict="fail",
        requirements=(RequirementVerdict("R-1", "MUST", "fail", odd, ("still-pending",)),),
    )
    [entry] = missing([trial], [], "found")
    assert (entry.anomaly, entry.requirement) == ("hung-call", "R-1")
    held = replace(
        trial,
        verdict="pass",
        requirements=(RequirementVerdict("R-1", "MUST", "pass", (), ("still-pending",)),),
    )
    assert apply(held, [entry]).verdict == "unexpected-pass"


def test_untried_and_flaky_entries_are_kept(verdict) -> None:
    entries = [known("d@1"), known(flaky=True), known(anomaly="duplicate"), known(scenario="frame/*")]
    assert unneeded([verdict("lost", scenario="produce/calm")], entries) == [2]
    assert unneeded([verdict()], entries) == [2]
    shadowed = [known(), known(scenario="produce/*", flaky=True)]
    assert unneeded([verdict("lost")], shadowed) == [1]


def test_a_contradiction_names_the_trials(verdict) -> None:
    entry = known()
    found = contradicted([verdict(), verdict("lost", seed=2)], [entry])
    assert found == {entry: [verdict().trial]}


def test_a_known_failure_is_a_separate_cause(verdict) -> None:
    trials = [apply(verdict("lost", "duplicate"), [known()])]
    assert {(cause.verdict, cause.anomaly) for cause in causes(trials)} == {
        ("fail", "duplicate"),
        ("expected-fail", "lost"),
    }


def differing(verdict, *also: RequirementVerdict):
    """Return a trial that differs by ``oversized-batch-not-split``, a SHOULD, with further requirements ``also``."""
    odd = (Finding("oversized-batch-not-split", "2 records failed together", level="SHOULD"),)
    mine = RequirementVerdict("R-1", "SHOULD", "differs", odd, ("oversized-batch-not-split",))
    return replace(
        verdict(),
        verdict="differs",
        code="oversized-batch-not-split",
        reason="so",
        requirements=(mine, *also),
    )


def test_a_known_difference_is_expected_until_it_is_unlisted(verdict) -> None:
    trial = differing(verdict)
    expected = apply(trial, [known(anomaly="oversized-batch-not-split")])
    assert (expected.verdict, expected.requirements[0].verdict) == ("expected-fail", "expected-fail")
    again = apply(expected, [])
    assert (again.verdict, again.code, again.requirements) == (
        "differs",
        "oversized-batch-not-split",
        trial.requirements,
    )
    assert apply(trial, [known(anomaly="lost")]).verdict == "differs"


def test_known_differences_and_known_failures_do_not_hide_each_other(verdict) -> None:
    lost = (Finding("lost", "3 records"),)
    trial = replace(
        differing(verdict, RequirementVerdict("R-2", "MUST", "fail", lost, ("lost",))), verdict="fail"
    )
    assert apply(trial, [known(anomaly="oversized-batch-not-split")]).verdict == "fail"
    left = apply(trial, [known()])
    assert [each.verdict for each in left.requirements] == ["differs", "expected-fail"]
    assert (left.verdict, left.code) == ("differs", "oversized-batch-not-split")
    assert apply(left, [known()]) == left
    assert apply(left, []).verdict == "fail"
    assert apply(trial, [known(), known(anomaly="oversized-batch-not-split")]).verdict == "expected-fail"


def test_a_known_difference_that_does_not_occur_is_an_unexpected_pass(verdict) -> None:
    held = RequirementVerdict("R-1", "SHOULD", "pass", (), ("oversized-batch-not-split",))
    trial = replace(verdict(), requirements=(held,))
    assert apply(trial, [known(anomaly="oversized-batch-not-split")]).verdict == "unexpected-pass"
    [entry] = missing([differing(verdict)], [], "found")
    assert entry.anomaly == "oversized-batch-not-split"
