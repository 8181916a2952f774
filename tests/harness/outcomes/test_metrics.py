"""The metrics: how each is read from a verdict, and which verdicts have any."""

from __future__ import annotations

from math import inf

import pytest

from harness.model.rows import Availability
from harness.model.verdicts import Verdict
from harness.outcomes.metrics import Better, Unit, counts, metrics
from harness.plugins import registry

READ = {
    "offered": 400.0,
    "acknowledged": 0.7,
    "given_up": 0.2,
    "unknown": 0.1,
    "lost": 0.01,
    "duplicated": 0.02,
    "reordered": 0.03,
    "missed": 0.04,
    "redelivered": 0.05,
    "commits_lost": 0.06,
    "undone": 0.07,
    "torn": 0.08,
    "visible_twice": 0.09,
    "longest_gap": 1_500.0,
    "recovery": 250.0,
    "latency_p50": 2.5,
    "latency_p99": 40.0,
    "requests_per_record": 0.5,
    "bytes_per_record": 120.0,
}
WHOLE = Availability(
    offered=400,
    acked=280,
    failed=80,
    unknown=40,
    longest_gap_ms=1_500,
    first_ack_ms=100,
    steady_ack_ms=250,
    recovered=True,
    p50_ns=2_500_000,
    p99_ns=40_000_000,
    requests=200,
    request_bytes=48_000,
)
COUNTS = {
    "lost": 4,
    "duplicated": 8,
    "reordered": 12,
    "missed": 16,
    "redelivered": 20,
    "commits_lost": 24,
    "undone": 28,
    "torn": 32,
    "visible_twice": 36,
}


def test_each_metric_is_read_from_the_verdict(trial):
    whole = trial(availability=WHOLE, counts=COUNTS)
    assert {name: each.value(whole) for name, each in metrics().items()} == pytest.approx(READ)


def test_a_verdict_of_an_earlier_version_lacks_the_numbers_that_it_does_not_have(trial):
    earlier = trial(availability={"longest_gap_ms": 5, "first_ack_ms": 100, "steady_ack_ms": 250})
    having = {name for name, each in metrics().items() if each.value(earlier) is not None}
    assert having == {"offered", "acknowledged", "given_up", "unknown", "longest_gap"}


@pytest.mark.parametrize(
    ("recovered", "steady_ms", "value"),
    [(None, None, None), (None, 250, None), (True, 250, 250), (True, 0, 0), (False, None, inf)],
)
def test_a_recovery_that_never_came_is_infinite_and_without_a_fault_there_is_none(
    trial, recovered, steady_ms, value
):
    told = trial(availability={"recovered": recovered, "steady_ack_ms": steady_ms})
    assert metrics()["recovery"].value(told) == value


def test_a_trial_without_elements_has_no_share(trial):
    nothing = trial(offered=0, counts=COUNTS, availability={"requests": 3, "request_bytes": 9})
    assert not counts(nothing)
    having = {name for name, each in metrics().items() if each.value(nothing) is not None}
    assert having == {"offered"}


@pytest.mark.parametrize("word", [*Verdict])
def test_only_judged_trials_count(trial, word):
    disturbed = {Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED, Verdict.HARNESS_ERROR, Verdict.UNSUPPORTED}
    assert counts(trial(verdict=word.value)) is (word not in disturbed)


@pytest.mark.parametrize("offered", [0, -1, -(2**63)])
def test_a_trial_that_offered_nothing_does_not_count(trial, offered):
    assert not counts(trial(availability={"offered": offered}))


def test_names_and_headings_are_unique_and_shares_have_amounts():
    known = metrics()
    assert [each.name for each in known.values()] == [*known]
    assert len({each.heading for each in known.values()}) == len(known)
    for each in known.values():
        assert (each.amount is not None) is (each.unit is Unit.SHARE)
        assert each.what and each.least >= 0


def test_a_workloads_outcomes_are_counts_that_it_describes():
    for kind in registry.table("workloads").values():
        assert {*kind.outcomes} <= kind.meaning.keys()
        for name in kind.outcomes:
            assert metrics()[name].what == kind.meaning[name]
            assert metrics()[name].better is Better.LOWER
