"""Members of KIP-848 that were fenced, and members of which an answer was lost."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import fenced_member, rejoins_after_loss
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, new_protocol

FENCED, UNKNOWN, STALE, LOADING = 110, 25, 113, 14


def codes(told, check=fenced_member.CHECK):
    return [finding.anomaly for finding in check.run(told.evidence())]


def anew(told):
    return codes(told, rejoins_after_loss.CHECK)


def arises(told, check):
    return check.requirements[0].arises(told.evidence())


def joined():
    """Return a member that owns a partition."""
    told = new_protocol("m1")
    told.beat("m1", -500, 0, FULL, told=1, given=(0,))
    told.assign("m1", 0, at_ms=-495)
    told.beat("m1", -490, 1, OWNED, (0,), told=1)
    told.beat("m1", 500, 1)
    return told


def fenced(code=FENCED):
    told = joined()
    told.beat("m1", 1_500, 1, code=code)
    return told


def rejoins(told, at_ms=1_510):
    told.beat("m1", at_ms, 0, FULL, told=2, given=(0,))
    told.assign("m1", 0, at_ms=at_ms + 5)
    told.beat("m1", at_ms + 10, 2, OWNED, (0,))
    return told


@pytest.mark.parametrize("code", [FENCED, UNKNOWN])
def test_a_fenced_member_loses_and_joins(code):
    told = fenced(code)
    told.revoke("m1", 0, at_ms=1_505, lost=True)

    assert codes(rejoins(told)) == []
    assert arises(told, fenced_member.CHECK) == 1


def test_to_go_on_is_found():
    told = fenced()
    told.beat("m1", 1_600, 1, FULL, (0,))

    assert codes(told) == ["fenced-goes-on"]


def test_the_answer_may_be_unread():
    told = fenced()
    told.connect("m1", 1_503)
    told.beat("m1", 1_504, 1, FULL, (0,))

    assert codes(told) == [] and arises(told, fenced_member.CHECK) == 0


def test_a_heartbeat_that_took_long_may_have_been_given_up():
    told = joined()
    told.beat("m1", 1_500, 1, took_ms=600, code=FENCED)
    told.beat("m1", 2_101, 1, FULL, (0,))

    assert codes(told) == []


def test_another_error_fences_nobody():
    told = fenced(LOADING)
    told.beat("m1", 1_600, 1, FULL, (0,))

    assert codes(told) == [] and arises(told, fenced_member.CHECK) == 0


def test_a_loss_that_is_not_told_is_found():
    assert codes(rejoins(fenced())) == ["loss-not-told"]


def test_a_member_that_keeps_its_partitions_is_found():
    told = fenced()
    told.beat("m1", 1_510, 0, FULL, told=2, given=(0,))
    told.assign("m1", at_ms=1_515)
    told.beat("m1", 1_520, 2, OWNED, (0,))

    assert codes(told) == ["loss-not-told"]


def test_a_loss_that_is_told_after_the_acknowledgement_is_late():
    told = fenced()
    told.beat("m1", 1_510, 0, FULL, told=2, given=(0,))
    told.beat("m1", 1_520, 2, OWNED, (0,))
    told.revoke("m1", 0, at_ms=1_600, lost=True)
    told.assign("m1", 0, at_ms=1_601)

    assert codes(told) == ["joins-before-loss"]


def test_a_member_that_has_no_partitions_again_is_not_judged():
    told = fenced()
    told.beat("m1", 1_510, 0, FULL, told=2, given=())
    told.assign("m1", at_ms=1_515)
    told.beat("m1", 1_520, 2, OWNED)

    assert codes(told) == []


def test_a_loss_that_is_told_late_differs():
    told = fenced()
    told.revoke("m1", 0, at_ms=1_513, lost=True)

    assert codes(rejoins(told)) == ["joins-before-loss"]


def test_a_loss_that_is_told_as_revocation_differs():
    told = fenced()
    told.revoke("m1", 0, at_ms=1_505)

    assert codes(rejoins(told)) == ["loss-told-as-revoked"]


def test_a_revocation_may_have_been_under_way():
    told = joined()
    told.beat("m1", 1_500, 1, given=())
    told.beat("m1", 1_510, 1, code=FENCED)
    told.revoke("m1", 0, at_ms=1_515)

    assert codes(rejoins(told, 1_520)) == []


def test_what_was_given_up_before_is_not_lost():
    told = joined()
    told.revoke("m1", 0, at_ms=1_000)
    told.beat("m1", 1_500, 1, code=FENCED)

    assert codes(rejoins(told)) == []


def test_a_member_that_closes_tells_nothing():
    told = fenced()
    told.close("m1", 1_505)
    told.beat("m1", 1_510, 0, FULL, told=2, given=(0,))

    assert codes(told) == []


def test_a_client_without_a_listener_is_judged_by_its_epochs():
    told = new_protocol("m1")
    told.beat("m1", -500, 0, FULL, told=1, given=(0,))
    told.beat("m1", 500, 1, OWNED, (0,), code=UNKNOWN)
    told.beat("m1", 510, 0, FULL, told=2, given=(0,))
    told.beat("m1", 520, 2, OWNED, (0,))

    assert codes(told) == [] and arises(told, fenced_member.CHECK) == 1


# A heartbeat without an answer


def lost():
    told = joined()
    told.beat("m1", 1_500, 1, took_ms=None)
    told.connect("m1", 1_600)
    return told


def test_a_lost_heartbeat_is_repeated():
    told = lost()
    told.beat("m1", 1_610, 1, FULL, (0,))

    assert anew(told) == [] and arises(told, rejoins_after_loss.CHECK) == 1


def test_to_begin_anew_is_found():
    told = lost()
    told.beat("m1", 1_610, 0, FULL)

    assert anew(told) == ["rejoins-after-loss"]


@pytest.mark.parametrize("epoch", [2, 3])
def test_another_epoch_is_found(epoch):
    told = lost()
    told.beat("m1", 1_610, epoch, FULL, (0,))

    assert anew(told) == ["other-epoch-after-loss"]


def test_a_member_that_left_may_join():
    told = lost()
    told.beat("m1", 1_610, -1)
    told.beat("m1", 1_700, 0, FULL)

    assert anew(told) == []


@pytest.mark.parametrize("at_ms", [1_000, 1_604])
def test_another_error_may_end_the_membership(at_ms):
    told = joined()
    if at_ms < 1_500:
        told.commit_frame("m1", at_ms, 1, code=STALE)
    told.beat("m1", 1_500, 1, took_ms=None)
    told.connect("m1", 1_600)
    if at_ms > 1_500:
        told.commit_frame("m1", at_ms, 1, code=STALE)
    told.beat("m1", 1_610, 0, FULL)

    assert anew(told) == []


def test_a_coordinator_that_loads_ends_no_membership():
    told = lost()
    told.commit_frame("m1", 1_604, 1, code=LOADING)
    told.beat("m1", 1_610, 0, FULL)

    assert anew(told) == ["rejoins-after-loss"]


def test_a_session_may_have_ended():
    told = lost()
    told.beat("m1", 46_000, 0, FULL)

    assert anew(told) == []


def test_a_stopped_process_may_be_a_member_no_more():
    told = lost()
    told.freeze("m1", 1_602, 1_608)
    told.beat("m1", 1_610, 0, FULL)

    assert anew(told) == []


def test_long_work_may_end_the_membership():
    told = joined()
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=-400, took_ms=11_000)
    for at_ms in range(1_500, 10_000, 1_000):
        told.beat("m1", at_ms, 1)
    told.beat("m1", 10_500, 1, took_ms=None)
    told.connect("m1", 10_600)
    told.beat("m1", 10_610, 0, FULL)

    assert anew(told) == []


def test_an_application_may_subscribe_again():
    told = lost()
    told.called("subscribe", "m1", 1_605)
    told.beat("m1", 1_610, 0, FULL)

    assert anew(told) == []
