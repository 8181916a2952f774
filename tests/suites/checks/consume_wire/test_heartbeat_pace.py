"""Heartbeats in the coordinator's interval, one at a time."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import heartbeat_contents
from suites.checks.consume_wire.heartbeat_pace import CHECK
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, new_protocol
from tests.suites.story import stalled

ARISES = CHECK.requirements[0].arises


def codes(told, check=CHECK):
    return [finding.anomaly for finding in check.run(told.evidence())]


def joined(at_ms=-500):
    """Return a member that owns a partition."""
    told = new_protocol("m1")
    told.beat("m1", at_ms, 0, FULL, told=1, given=(0,))
    told.assign("m1", 0, at_ms=at_ms + 5)
    told.beat("m1", at_ms + 10, 1, OWNED, (0,))
    return told


def paced(*at_ms, **fields):
    told = joined()
    for each in at_ms:
        told.beat("m1", each, 1, **fields)
    return told


def test_the_coordinators_interval_is_kept():
    told = paced(500, 1_500, 2_500, 3_500)

    assert codes(told) == []
    assert ARISES(told.evidence()) > 0


@pytest.mark.parametrize("interval_ms", [4_000, 200])
def test_another_interval_is_found(interval_ms):
    told = paced(500, 1_500, 2_500, 3_500, interval_ms=interval_ms)

    [found] = CHECK.run(told.evidence())
    assert found.anomaly == "own-interval"
    assert found.params == {"gap_ms": 1_000, "interval_ms": interval_ms}


def test_two_gaps_are_no_habit():
    assert codes(paced(500, 1_500, 2_500, interval_ms=4_000)) == []


def test_a_member_with_news_does_not_wait():
    told = joined()
    for at_ms in range(100, 600, 100):
        told.beat("m1", at_ms, 1, OWNED, (0,))

    assert codes(told) == []


def test_what_follows_an_error_or_an_assignment_does_not_wait():
    told = paced(500, 700, code=14)
    told.beat("m1", 900, 1, given=(0,))
    told.beat("m1", 1_000, 1)

    assert codes(told) == []


@pytest.mark.parametrize("kind", ["latency", "coordinator_move"])
def test_a_fault_may_decide_about_the_interval(kind):
    told = paced(500, 1_500, 2_500, 3_500, interval_ms=4_000)
    told.fault(kind, 1_600, 1_700)

    assert codes(told) == []


def test_an_error_of_another_answer_may_hurry_a_member():
    told = paced(500, 1_500, 2_500, 3_500, interval_ms=4_000)
    told.commit_frame("m1", 2_000, 1, code=113)

    assert codes(told) == []


def test_a_stopped_process_is_silent():
    told = paced(500, 6_000, 11_000, 16_000)
    told.freeze("m1", 700, 900)
    told.freeze("m1", 7_000, 9_000)

    assert codes(told) == []


def test_another_connection_begins_another_row():
    told = paced(500, 3_500)
    told.connect("m1", 4_000)
    told.beat("m1", 6_500, 1)
    told.beat("m1", 9_500, 1)

    assert codes(told) == []


def test_a_stall_may_be_the_cause():
    told = paced(500, 3_500, 6_500, 9_500)

    with pytest.raises(Inconclusive):
        CHECK.run(stalled(told.evidence(), 4_000, 7_000))


def test_a_heartbeat_before_the_answer_is_found():
    told = joined()
    told.beat("m1", 500, 1, took_ms=1_200)
    told.beat("m1", 900, 1, took_ms=900)

    assert codes(told) == ["heartbeats-overlap"]


def test_a_member_that_waits_for_the_answer_to_its_join_is_judged():
    told = new_protocol("m1")
    told.beat("m1", 500, 0, FULL, told=1, took_ms=600, given=(0,))
    told.beat("m1", 1_110, 1, OWNED, (0,))

    assert codes(told) == []
    assert ARISES(told.evidence()) > 0


@pytest.mark.parametrize("took_ms", [2_000, None])
@pytest.mark.parametrize("at_ms", [1_000, 1_500, 3_600])
def test_a_heartbeat_may_be_given_up(took_ms, at_ms):
    told = joined()
    told.beat("m1", 500, 1, took_ms=took_ms)
    told.beat("m1", at_ms, 1, FULL, (0,), took_ms=2_000)

    assert codes(told) == []


def test_a_member_leaves_and_joins_again_at_once():
    told = joined()
    told.beat("m1", 500, 1, took_ms=900)
    told.beat("m1", 600, -1, took_ms=900)
    told.beat("m1", 700, 0, FULL, took_ms=900)

    assert codes(told) == []


def test_another_connection_does_not_overlap():
    told = joined()
    told.beat("m1", 500, 1, took_ms=None)
    told.connect("m1", 600)
    told.beat("m1", 610, 1, FULL, (0,))

    assert codes(told) == []


@pytest.mark.parametrize("code", [0, 14])
def test_contents_of_overlapping_heartbeats_are_not_judged(code):
    """The client had not read the answer to the one before."""
    told = joined()
    told.beat("m1", 500, 1, took_ms=600, code=code)
    told.beat("m1", 900, 1, took_ms=400, code=code)
    told.beat("m1", 1_301, 1)
    told.beat("m1", 1_500, 1, took_ms=None)
    told.beat("m1", 2_000, 1, took_ms=None)

    assert codes(told, heartbeat_contents.CHECK) == []


def test_contents_after_an_unanswered_heartbeat_are_judged():
    told = joined()
    told.beat("m1", 500, 1, took_ms=None)
    told.connect("m1", 3_600)
    told.beat("m1", 3_610, 1)

    assert codes(told, heartbeat_contents.CHECK) == ["says-too-little"]
