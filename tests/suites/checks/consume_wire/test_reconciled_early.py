"""Members of KIP-848 that acknowledge before, or after, their callbacks and commits."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire.reconciled_early import CHECK
from tests.suites.checks.consume_wire.heartbeat_story import FULL, OWNED, new_protocol
from tests.suites.story import stalled

ARISES = CHECK.requirements[0].arises


def codes(told):
    return [finding.anomaly for finding in CHECK.run(told.evidence())]


def joins(assigned_ms=-495, acknowledged_ms=-490, **config):
    told = new_protocol("m1", **config)
    told.beat("m1", -500, 0, FULL, told=1, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=assigned_ms)
    told.beat("m1", acknowledged_ms, 1, OWNED, (0, 1))
    return told


def gives_up(told, revoked_ms=1_510, acknowledged_ms=1_520):
    told.beat("m1", 1_500, 1, given=(0,))
    told.revoke("m1", 1, at_ms=revoked_ms)
    told.beat("m1", acknowledged_ms, 1, OWNED, (0,), told=2)
    return told


def test_callbacks_come_first():
    told = gives_up(joins())

    assert codes(told) == []
    assert ARISES(told.evidence()) == 3


def test_a_partition_that_is_given_up_early_is_found():
    assert codes(gives_up(joins(), revoked_ms=1_525)) == ["given-up-before-callback"]


def test_a_partition_that_is_taken_over_early_differs():
    assert codes(joins(assigned_ms=-485)) == ["taken-over-before-callback"]


def test_a_heartbeat_that_changes_nothing_acknowledges_nothing():
    told = joins()
    told.beat("m1", 500, 1, FULL, (0, 1))

    assert codes(told) == [] and ARISES(told.evidence()) == 2


def test_a_partition_that_the_listener_never_had_is_not_judged():
    """The coordinator took it back before the callback ran."""
    told = joins()
    told.beat("m1", 500, 1, given=(0, 1, 2))
    told.beat("m1", 510, 1, OWNED, (0, 1, 2))
    told.beat("m1", 1_500, 1, given=(0, 1))
    told.beat("m1", 1_510, 1, OWNED, (0, 1))

    assert codes(told) == []


def test_a_partition_that_comes_back_was_told_before():
    told = gives_up(joins())
    told.beat("m1", 2_500, 2, given=(0, 1))
    told.assign("m1", 1, at_ms=2_510)
    told.beat("m1", 2_520, 2, OWNED, (0, 1))

    assert codes(told) == []


def test_what_is_lost_is_not_given_up():
    told = joins()
    told.beat("m1", 1_500, 1, code=110)
    told.beat("m1", 1_520, 0, FULL)
    told.revoke("m1", 0, 1, at_ms=1_530, lost=True)

    assert codes(told) == []


def test_a_client_without_a_listener_is_not_judged():
    told = new_protocol("m1")
    told.beat("m1", -500, 0, FULL, told=1, given=(0,))
    told.beat("m1", -490, 1, OWNED, (0,))

    assert codes(told) == [] and ARISES(told.evidence()) == 0


def test_a_stall_may_be_the_cause():
    told = gives_up(joins(), revoked_ms=5_000)

    with pytest.raises(Inconclusive):
        CHECK.run(stalled(told.evidence(), 1_800, 4_800))


# The commit before a revocation


def reads(auto=True):
    told = joins(enable_auto_commit=auto)
    told.write(3, 1)
    told.take("m1", 1, 0, 1, 2, at_ms=500)
    return told


def test_what_was_processed_is_committed_first():
    told = reads()
    told.commit_frame("m1", 1_505, 1, {1: 3})

    assert codes(gives_up(told)) == []


@pytest.mark.parametrize("offset", [None, 2])
def test_a_missing_commit_differs(offset):
    told = reads()
    if offset is not None:
        told.commit_frame("m1", 600, 1, {1: offset})
    told.commit_frame("m1", 1_600, 1, {1: 3})

    assert codes(gives_up(told)) == ["given-up-before-commit"]


def test_a_commit_that_is_refused_was_tried():
    told = reads()
    told.commit_frame("m1", 1_505, 1, {1: 3}, code=113)

    assert codes(gives_up(told)) == []


def test_an_application_commits_by_itself():
    assert codes(gives_up(reads(auto=False))) == []


def test_what_was_not_processed_need_not_be_committed():
    told = joins(enable_auto_commit=True)
    told.write(3, 1)
    told.take("m1", 1, 0, 1, 2, at_ms=1_400, took_ms=150)

    assert codes(gives_up(told)) == []


def test_lost_records_are_not_committed():
    told = reads()
    told.beat("m1", 1_500, 1, given=(0,))
    told.revoke("m1", 1, at_ms=1_510, lost=True)
    told.beat("m1", 1_520, 1, OWNED, (0,), told=2)

    assert codes(told) == []
