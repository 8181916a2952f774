"""When the application learns the results of its commits."""

from __future__ import annotations

import pytest

from suites.checks.consume import call_overdue, callback_order
from tests.suites.checks.consume_wire.commit_story import arises, found


@pytest.fixture
def told(group):
    """Return the story of one member."""
    story = group()
    story.start("m1", "m2")
    return story


def commits(told, *made, member="m1"):
    """Report commits, in the order in which they are given: how, when they were called, and how long they took."""
    for number, (how, at_ms, took_ms) in enumerate(made):
        told.commit(member, 0, 3, at_ms, took_ms=took_ms, how=how)
        told.numbered(number)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([("async", 100, 50), ("async", 110, 50)], []),
        ([("async", 110, 50), ("async", 100, 70)], [("callbacks-out-of-order", 1)]),
        ([("async", 100, 50), ("sync", 110, 50)], []),
        ([("sync", 110, 50), ("async", 100, 70)], [("callback-after-sync-commit", 1)]),
    ],
)
def test_results_come_in_the_order_of_the_calls(told, made, expected):
    commits(told, *made)
    assert found(callback_order, told) == expected
    assert arises(callback_order, told) == 1


def test_commits_one_after_the_other_say_nothing(told):
    commits(told, ("async", 100, 50), ("async", 200, 50))
    assert arises(callback_order, told) == 0


def test_two_processes_have_no_order(told):
    commits(told, ("async", 110, 50))
    commits(told, ("async", 100, 70), member="m2")
    assert found(callback_order, told) == []


def test_failed_synchronous_commit_waits_for_nothing(told):
    told.commit("m1", 0, 3, 110, took_ms=50, success=False)
    told.numbered(0)
    told.commit("m1", 0, 3, 100, took_ms=70, how="async")
    told.numbered(1)
    assert found(callback_order, told) == []


@pytest.mark.parametrize(
    ("took_ms", "expected", "count"), [(11_100, [("call-overdue", 1)], 1), (10_900, [], 1), (8_000, [], 0)]
)
def test_commit_ends_by_its_limit(told, took_ms, expected, count):
    told.commit("m1", 0, 3, 100, took_ms=took_ms, success=False)
    assert found(call_overdue, told) == expected
    assert arises(call_overdue, told) == count


@pytest.mark.parametrize(
    "why",
    [
        lambda told: told.commit("m1", 0, 3, 100, took_ms=20_000, how="async"),
        lambda told: told.commit("m1", 0, 3, 100, took_ms=20_000) or told.freeze("m1", 5_000, 6_000),
        lambda told: told.commit("m3", 0, 3, 100, took_ms=20_000) or told.start("m3", companion="java@4.3.1"),
    ],
)
def test_commit_that_nobody_waits_for_or_nobody_can_end_is_not_judged(told, why):
    why(told)
    assert found(call_overdue, told) == []


def test_client_without_the_limit_is_not_judged(told):
    told.not_set["default.api.timeout.ms"] = "there is none"
    told.commit("m1", 0, 3, 100, took_ms=20_000)
    assert found(call_overdue, told) == "unsupported"


def test_stall_leaves_it_undecided(told):
    told.silent.add("m1")
    told.commit("m1", 0, 3, 100, took_ms=20_000)
    told.beat("m1", 0, 3_000)
    assert found(call_overdue, told) == "inconclusive"
