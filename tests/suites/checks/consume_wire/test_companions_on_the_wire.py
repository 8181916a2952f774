"""The client under test answers for its own members of a group of KIP-848, and not for those of other clients."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import (
    fatal_error_survived,
    fenced_member,
    heartbeat_contents,
    heartbeat_pace,
    reconciled_early,
    rejoins_after_loss,
    stale_commit,
)
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, new_protocol

FENCED, FULL_GROUP, STALE = 110, 81, 113


def goes_on_though_fenced(told):
    told.beat("m1", 1_500, 1, code=FENCED)
    told.beat("m1", 1_600, 1, FULL, (0,))


def goes_on_though_refused(told):
    told.beat("m1", 1_500, 1, code=FULL_GROUP)
    told.raised("poll", "m1", 1_550)
    told.beat("m1", 1_600, 1, FULL, (0,))


def says_too_little(told):
    told.beat("m1", 1_500, 1, code=14)
    told.beat("m1", 1_600, 1)


def does_not_wait(told):
    told.beat("m1", 1_500, 1, took_ms=400)
    told.beat("m1", 1_600, 1, took_ms=400)


def gives_up_early(told):
    told.beat("m1", 1_500, 1, given=())
    told.beat("m1", 1_510, 1, OWNED)
    told.revoke("m1", 0, at_ms=1_600)


def joins_again(told):
    told.beat("m1", 1_500, 1, took_ms=None)
    told.connect("m1", 1_600)
    told.beat("m1", 1_610, 0, FULL)


def believes_in_a_stale_commit(told):
    told.commit_frame("m1", 1_000, 1, {0: 3}, code=STALE)
    told.commit("m1", 0, 3, at_ms=999, took_ms=300)


@pytest.mark.parametrize(
    ("module", "does", "code"),
    [
        (fatal_error_survived, goes_on_though_refused, "fatal-error-survived"),
        (fenced_member, goes_on_though_fenced, "fenced-goes-on"),
        (heartbeat_contents, says_too_little, "says-too-little"),
        (heartbeat_pace, does_not_wait, "heartbeats-overlap"),
        (reconciled_early, gives_up_early, "given-up-before-callback"),
        (rejoins_after_loss, joins_again, "rejoins-after-loss"),
        (stale_commit, believes_in_a_stale_commit, "stale-commit-reported-done"),
    ],
)
def test_a_client_answers_for_its_own_members_only(module, does, code):
    for companion, expected in (("", [code]), ("java@4.3.1", [])):
        told = new_protocol("m1", companion=companion)
        told.beat("m1", -500, 0, FULL, told=1, given=(0,))
        told.assign("m1", 0, at_ms=-495)
        told.beat("m1", -490, 1, OWNED, (0,))
        told.beat("m1", 500, 1)
        does(told)

        assert [finding.anomaly for finding in module.CHECK.run(told.evidence())] == expected
