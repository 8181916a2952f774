"""never-commits-again: how many transactions in a row, over what time, and how long after the last fault."""

from __future__ import annotations

import pytest

from suites.checks.transactions.never_commits_again import CHECK
from tests.suites.checks.transactions.transaction_story import TransactionStory, aborting

[REQUIREMENT] = CHECK.requirements
STEP_MS = 300


def told(outcomes, *, first_ms=5_000, step_ms=STEP_MS, fault_ms=None):
    """Return a story of transactions with these outcomes, and of a fault that ends at ``fault_ms``."""
    story = TransactionStory(config={"request.timeout.ms": 1_000}, final_ms=20_000, end_ms=20_000)
    story.beat(*range(0, 20_000, 1_000))
    if fault_ms is not None:
        story.fault("disconnect", 10, fault_ms)
    for at, outcome in enumerate(outcomes):
        story.transact(2 * at, 2 * at + 1, at_ms=first_ms + at * step_ms, outcome=outcome)
    return story


def found(story):
    return {each.anomaly: each.count for each in CHECK.run(story.evidence())}


@pytest.mark.parametrize("outcome", ["info", "fail"])
@pytest.mark.parametrize(("times", "expected"), [(9, {}), (10, {"never-commits-again": 10})])
def test_ten_in_a_row(outcome, times, expected):
    story = told(["ok", *[outcome] * times])
    assert found(story) == expected
    assert REQUIREMENT.arises(story.evidence()) == 1 + times


def test_one_commit_among_them():
    assert found(told([*["info"] * 12, "ok"])) == {}
    assert found(told([*["info"] * 12, "ok", *["info"] * 9])) == {}


@pytest.mark.parametrize(("step_ms", "count"), [(200, 0), (250, 1)])
def test_they_last_for_two_seconds(step_ms, count):
    assert len(found(told(["info"] * 10, step_ms=step_ms))) == count


@pytest.mark.parametrize(("fault_ms", "count"), [(3_990, 1), (4_010, 0)])
def test_request_timeout_after_the_last_fault(fault_ms, count):
    assert len(found(told(["info"] * 10, fault_ms=fault_ms))) == count


def test_aborts_do_not_count(monkeypatch):
    aborting(monkeypatch, *range(20, 30, 2))
    assert found(told([*["info"] * 10, *["ok"] * 5])) == {"never-commits-again": 10}
    aborting(monkeypatch, *range(0, 20, 2))
    assert found(told(["info"] * 10)) == {}
