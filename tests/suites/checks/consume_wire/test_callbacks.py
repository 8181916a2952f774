"""Members of KIP-848 whose application fails in a callback, or does not poll."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import refusal_acknowledged, stays_unpolled
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, arises, codes, joined
from tests.suites.story import stalled

# A callback that fails


def throws(callback=1, times=1, raised_ms=1_510):
    told = joined()
    told.fault("listener_throws", 600, 5_000, member=1, callback=callback, times=times)
    told.done("throw", "m1", 650)
    told.beat("m1", 1_500, 1, given=(0,))
    told.revoke("m1", 1, at_ms=1_505)
    if callback == 0:
        told.assign("m1", at_ms=1_506)
    if raised_ms is not None:
        told.raised("poll", "m1", raised_ms)
    return told


@pytest.mark.parametrize("callback", [0, 1])
def test_a_refusal_is_not_acknowledged_before_the_listener_returns(callback):
    told = throws(callback)
    told.revoke("m1", 1, at_ms=1_600)
    told.assign("m1", at_ms=1_601)
    told.beat("m1", 1_610, 1, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == [] and arises(told, refusal_acknowledged) == 1


@pytest.mark.parametrize("callback", [0, 1])
def test_an_acknowledged_refusal_differs(callback):
    told = throws(callback)
    told.beat("m1", 1_610, 1, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == ["refusal-acknowledged"]


def test_another_callback_is_no_second_call():
    told = throws(callback=1)
    told.assign("m1", at_ms=1_601)
    told.beat("m1", 1_610, 1, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == ["refusal-acknowledged"]


def test_without_an_exception_nothing_was_refused():
    told = throws(raised_ms=None)
    told.beat("m1", 1_610, 1, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == [] and arises(told, refusal_acknowledged) == 0


def test_heartbeats_that_change_nothing_go_on():
    told = throws()
    told.beat("m1", 1_610, 1, FULL, (0, 1))
    told.beat("m1", 2_610, 1)

    assert codes(told, refusal_acknowledged) == []


@pytest.mark.parametrize("epoch", [0, -1])
def test_another_membership_is_not_judged(epoch):
    told = throws()
    told.beat("m1", 1_600, epoch, FULL if epoch == 0 else ())
    told.beat("m1", 1_700, 2, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == []


def test_a_call_before_the_application_knew_did_not_fail():
    told = joined()
    told.beat("m1", 1_500, 1, given=(0,))
    told.revoke("m1", 1, at_ms=1_505)
    told.fault("listener_throws", 1_506, 5_000, member=1, callback=1, times=1)
    told.done("throw", "m1", 1_507)
    told.raised("poll", "m1", 1_508)
    told.beat("m1", 1_510, 1, OWNED, (0,))

    assert codes(told, refusal_acknowledged) == []


# An application that does not poll


def works(took_ms=9_000, left_ms=6_500, **config):
    """The member works on a turn, and leaves its group meanwhile."""
    told = joined(**{"max_poll_interval_ms": "6000", **config})
    told.final_ms = 30_000
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=600, took_ms=took_ms)
    for at_ms in range(1_500, int(left_ms or took_ms), 1_000):
        told.beat("m1", at_ms, 1)
    if left_ms is not None:
        told.beat("m1", left_ms, -1)
    return told


def rejoins(told, at_ms=9_650, epoch=0):
    told.beat("m1", at_ms, epoch, FULL, told=3)
    return told


@pytest.mark.parametrize("left_ms", [6_500, 7_300])
def test_a_member_leaves_and_comes_back(left_ms):
    told = rejoins(works(left_ms=left_ms))

    assert codes(told, stays_unpolled) == [] and arises(told, stays_unpolled) == 1


def test_a_member_that_stays_differs():
    assert codes(works(left_ms=None), stays_unpolled) == ["stays-unpolled"]


def test_a_member_that_is_back_before_the_poll_differs():
    assert codes(rejoins(works(), 8_000), stays_unpolled) == ["back-unpolled"]


def test_a_member_that_goes_on_differs():
    assert codes(rejoins(works(), epoch=1), stays_unpolled) == ["goes-on-after-leaving"]


def test_a_member_that_stays_away_differs():
    told = works()
    told.end_ms = 120_000

    assert codes(told, stays_unpolled) == ["not-back"]


def test_a_member_that_closes_need_not_come_back():
    told = works()
    told.close("m1", 20_000)

    assert codes(told, stays_unpolled) == []


@pytest.mark.parametrize("took_ms", [5_000, 6_900])
def test_work_within_the_limit_is_no_reason(took_ms):
    told = works(took_ms, None)

    assert codes(told, stays_unpolled) == [] and arises(told, stays_unpolled) == 0


def test_a_setting_that_the_client_lacks_binds_nobody():
    told = works(left_ms=None)
    told.not_set["max.poll.interval.ms"] = "not offered"

    assert codes(told, stays_unpolled) == []


def test_a_member_that_closes_meanwhile_is_not_judged():
    told = works(left_ms=None)
    told.close("m1", 7_000)

    assert codes(told, stays_unpolled) == []


def test_a_stopped_process_cannot_leave():
    told = works(left_ms=None)
    told.freeze("m1", 5_000, 8_000)

    assert codes(told, stays_unpolled) == []


def test_a_member_out_of_reach_cannot_leave():
    told = works(left_ms=None)
    told.fault("partition", 4_000, 9_000)

    assert codes(told, stays_unpolled) == []


def test_a_fenced_member_has_nothing_to_leave():
    told = works(left_ms=None)
    told.beat("m1", 5_600, 1, code=110)

    assert codes(told, stays_unpolled) == []


def test_a_stall_may_be_the_cause():
    told = works(left_ms=None)

    with pytest.raises(Inconclusive):
        stays_unpolled.CHECK.run(stalled(told.evidence(), 4_000, 8_000))
