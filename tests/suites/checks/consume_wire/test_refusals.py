"""Members of KIP-848 whose requests are refused: for good, or because their epoch is stale."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import fatal_error_survived, stale_commit
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, arises, codes, joined
from tests.suites.story import stalled

STALE, LOADING, FULL_GROUP, FENCED = 113, 14, 81, 110


# Fatal errors


def refused(code=FULL_GROUP, raised_ms=1_600, took_ms=2):
    told = joined()
    told.beat("m1", 1_500, 1, took_ms=took_ms, code=code)
    if raised_ms is not None:
        told.raised("poll", "m1", raised_ms)
    return told


@pytest.mark.parametrize("code", sorted(fatal_error_survived.FATAL))
def test_a_fatal_error_ends_the_membership(code):
    told = refused(code)

    assert codes(told, fatal_error_survived) == [] and arises(told, fatal_error_survived) == 1


@pytest.mark.parametrize("epoch", [1, 0])
def test_to_go_on_differs(epoch):
    told = refused()
    told.beat("m1", 2_500, epoch, FULL)

    assert codes(told, fatal_error_survived) == ["fatal-error-survived"]


def test_a_member_may_leave():
    told = refused()
    told.beat("m1", 2_500, -1)

    assert codes(told, fatal_error_survived) == []


@pytest.mark.parametrize("code", [LOADING, FENCED])
def test_other_errors_end_nothing(code):
    told = refused(code, raised_ms=None)
    told.beat("m1", 2_500, 0, FULL)

    assert codes(told, fatal_error_survived) == [] and arises(told, fatal_error_survived) == 0


def test_the_answer_may_be_unread():
    told = refused()
    told.connect("m1", 1_503)
    told.beat("m1", 1_504, 1, FULL)

    assert codes(told, fatal_error_survived) == []


@pytest.mark.parametrize("raised_ms", [None, 1_400, 7_000])
def test_an_error_that_is_kept_back_differs(raised_ms):
    assert codes(refused(raised_ms=raised_ms), fatal_error_survived) == ["fatal-error-not-told"]


def test_long_work_delays_the_exception():
    told = refused(raised_ms=None)
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=1_000, took_ms=8_000)
    told.close("m1", 9_500)

    assert codes(told, fatal_error_survived) == []


def test_a_process_that_ends_is_told_nothing():
    told = refused(raised_ms=None)
    told.kill("m1", 3_000)

    assert codes(told, fatal_error_survived) == []


def test_a_stall_may_be_the_cause():
    told = refused(raised_ms=None)

    with pytest.raises(Inconclusive):
        fatal_error_survived.CHECK.run(stalled(told.evidence(), 2_000, 6_000))


# Synchronous commits


def commits(success=False, code=STALE, took_ms=300):
    told = joined()
    told.commit_frame("m1", 1_000, 1, {0: 3}, code=code)
    told.commit("m1", 0, 3, at_ms=999, took_ms=took_ms, success=success)
    return told


def test_a_stale_commit_fails():
    told = commits()

    assert codes(told, stale_commit) == [] and arises(told, stale_commit) == 1


def test_a_stale_commit_that_is_reported_as_done_differs():
    assert codes(commits(success=True), stale_commit) == ["stale-commit-reported-done"]


@pytest.mark.parametrize("success", [True, False])
def test_a_stale_commit_that_is_repeated_differs(success):
    told = commits(success)
    told.commit_frame("m1", 1_100, 2, {0: 3})

    assert codes(told, stale_commit) == ["stale-commit-repeated"]


def test_another_commit_of_other_offsets_is_no_repetition():
    told = commits()
    told.commit_frame("m1", 1_100, 2, {0: 4})
    told.commit_frame("m1", 1_400, 2, {0: 3})

    assert codes(told, stale_commit) == []


def test_a_commit_with_another_error_may_be_repeated():
    told = commits(code=LOADING, success=True)
    told.commit_frame("m1", 1_100, 1, {0: 3})

    assert codes(told, stale_commit) == [] and arises(told, stale_commit) == 0


def test_an_asynchronous_commit_is_not_judged():
    told = joined()
    told.commit_frame("m1", 1_000, 1, {0: 3}, code=STALE)
    told.commit_frame("m1", 1_100, 2, {0: 3})
    told.commit("m1", 0, 3, at_ms=999, took_ms=300, how="async")

    assert codes(told, stale_commit) == []


# The automatic commit before a revocation


def gives_up(*commits, auto=True, acknowledged_ms=1_900):
    """The member has to give up partition 1 from 1,500 ms on. ``commits`` are times, offsets and errors."""
    told = joined(enable_auto_commit=auto)
    told.write(3, 1)
    told.take("m1", 1, 0, 1, 2, at_ms=700)
    told.beat("m1", 1_500, 1, given=(0,))
    for at_ms, offset, code in commits:
        told.commit_frame("m1", at_ms, 1, {1: offset}, code=code)
    told.revoke("m1", 1, at_ms=acknowledged_ms - 10)
    told.beat("m1", acknowledged_ms, 1, OWNED, (0,), told=2)
    return told


def test_the_commit_is_repeated():
    told = gives_up((1_510, 3, STALE), (1_610, 3, 0))

    assert codes(told, stale_commit) == [] and arises(told, stale_commit) == 1


def test_a_commit_that_is_not_repeated_differs():
    assert codes(gives_up((1_510, 3, STALE)), stale_commit) == ["stale-commit-not-repeated"]


def test_a_repeated_commit_that_is_refused_as_well_differs():
    told = gives_up((1_510, 3, STALE), (1_610, 3, STALE))

    assert codes(told, stale_commit) == ["stale-commit-not-repeated"]


def test_a_commit_that_loads_was_tried():
    assert codes(gives_up((1_510, 3, STALE), (1_610, 3, LOADING)), stale_commit) == []


def test_what_was_stored_before_need_not_be_committed():
    assert codes(gives_up((1_000, 3, 0), (1_510, 3, STALE)), stale_commit) == []


def test_a_stale_epoch_before_the_revocation_says_nothing():
    told = gives_up((1_000, 3, STALE), (1_510, 3, 0))

    assert codes(told, stale_commit) == [] and arises(told, stale_commit) == 0


def test_the_refusal_may_be_unread():
    assert codes(gives_up((1_899, 3, STALE)), stale_commit) == []


def test_a_rebalance_has_an_end():
    assert codes(gives_up((1_510, 3, STALE), (7_000, 3, STALE), acknowledged_ms=7_100), stale_commit) == []


def test_an_application_commits_by_itself():
    told = gives_up((1_510, 3, STALE), auto=False)

    assert codes(told, stale_commit) == [] and arises(told, stale_commit) == 0
