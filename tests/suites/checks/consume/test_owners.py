"""Who owns a partition: two at once, one that should know better, and none."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plugins.check import Inconclusive
from suites.checks.consume import orphaned, two_owners
from tests.suites.checks.consume.test_deliveries import replace_beats


def found(module, told):
    """Return code and count of each finding."""
    return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]


def zombie(group, at_ms, *, generation=2, took_ms=10):
    """m1 owns a partition, and so does m2 from 30 s on. m1 takes a record at ``at_ms``."""
    told = group()
    told.end_ms, told.final_ms, told.heal_ms = 90_000, 80_000, 70_000
    told.start("m1", "m2")
    told.write(3, 0)
    told.assign("m1", 0, at_ms=10)
    told.take("m1", 0, 0, at_ms=100, took_ms=took_ms)
    told.assign("m2", 0, at_ms=30_000, generation=generation)
    told.take("m2", 0, 0, 1, 2, at_ms=30_100)
    told.take("m1", 0, 1, at_ms=at_ms)
    return told


def test_successor_of_a_static_member_has_its_generation(group):
    told = group(static=1)
    told.end_ms, told.final_ms, told.heal_ms = 90_000, 80_000, 70_000
    told.start("m1", "m1-2")
    told.write(3, 0)
    told.assign("m1", 0, at_ms=10)
    told.assign("m1-2", 0, at_ms=30_000)
    assert found(two_owners, told) == []
    told.take("m1", 0, 0, at_ms=32_000)
    assert found(two_owners, told) == [("outdated-owner", 1)]


def test_two_static_members_share_no_generation(group):
    assert found(two_owners, zombie(partial(group, static=1), 20_000, generation=1)) == [("two-owners", 1)]


def test_two_owners_in_one_generation(group):
    assert found(two_owners, zombie(group, 20_000, generation=1)) == [("two-owners", 1)]


@given(st.integers(31_001, 60_000))
def test_owner_that_goes_on_without_a_reason_is_outdated(group, at_ms):
    assert found(two_owners, zombie(group, at_ms)) == [("outdated-owner", 1)]


@given(st.integers(20_000, 31_000))
def test_two_processes_may_report_in_either_order(group, at_ms):
    assert found(two_owners, zombie(group, at_ms)) == []


@pytest.mark.parametrize(("end_ms", "is_excused"), [(31_000, True), (41_000, True), (21_000, False)])
def test_frozen_owner_is_excused_until_a_heartbeat_must_have_failed(group, end_ms, is_excused):
    told = zombie(group, 41_500 if end_ms == 41_000 else 35_000)
    told.freeze("m1", 20_500, end_ms)
    assert (found(two_owners, told) == []) is is_excused


def test_freeze_of_the_other_owner_is_no_excuse(group):
    told = zombie(group, 35_000)
    told.freeze("m2", 20_000, 29_000)
    assert found(two_owners, told) == [("outdated-owner", 1)]


def test_late_poll_is_an_excuse(group):
    assert found(two_owners, zombie(group, 31_500, took_ms=29_900)) == []


@pytest.mark.parametrize(
    ("begin_ms", "at_ms", "is_excused"), [(25_000, 33_000, True), (25_000, 45_000, False)]
)
def test_cut_is_an_excuse_for_as_long_as_a_member_may_need(group, begin_ms, at_ms, is_excused):
    told = zombie(group, at_ms)
    told.fault("disconnect", begin_ms, 30_000)
    assert (found(two_owners, told) == []) is is_excused


@pytest.mark.parametrize(
    "kind",
    [
        "commit_now",
        "listener_throws",
        "member_join",
        "pause_partitions",
        "seek_back",
        "slow_processing",
        "wakeup",
    ],
)
def test_fault_of_an_application_is_no_cut(group, kind):
    told = zombie(group, 33_000)
    told.fault(kind, 25_000, 30_000)
    assert found(two_owners, told) == [("outdated-owner", 1)]


def test_cut_long_before_is_no_excuse(group):
    told = zombie(group, 33_000)
    told.fault("disconnect", 1_000, 2_000)
    assert found(two_owners, told) == [("outdated-owner", 1)]


def test_stalled_owner_makes_it_inconclusive(group):
    evidence = replace_beats(zombie(group, 33_000).evidence(), "m1", 25_000, 32_000)
    with pytest.raises(Inconclusive):
        two_owners.CHECK.run(evidence)


def abandoned(group, *, until_ms=40_000, owner_from_ms=None):
    """m1 and m2 share two partitions; at 5 s m2 is killed, and partition 1 has no owner unless told."""
    told = group()
    told.heal_ms, told.final_ms, told.end_ms = 6_000, until_ms, until_ms + 1_000
    told.start("m1", "m2")
    told.assign("m1", 0, at_ms=10)
    told.assign("m2", 1, at_ms=10)
    told.fault("member_kill", 5_000, 6_000)
    told.kill("m2", 5_000)
    if owner_from_ms is not None:
        told.assign("m1", 1, at_ms=owner_from_ms, generation=2)
    return told


def test_partition_without_an_owner_is_orphaned(group):
    told = abandoned(group)
    assert found(orphaned, told) == [("orphaned", 1)]
    assert orphaned.CHECK.requirements[0].arises(told.evidence()) == 2


@pytest.mark.parametrize("owner_from_ms", [7_000, 25_900])
def test_group_may_take_its_largest_timeout(group, owner_from_ms):
    assert found(orphaned, abandoned(group, owner_from_ms=owner_from_ms)) == []


def test_short_time_after_the_faults_judges_nothing(group):
    told = abandoned(group, until_ms=20_000)
    assert found(orphaned, told) == []
    assert orphaned.CHECK.requirements[0].arises(told.evidence()) == 0


def test_group_without_a_living_member_has_no_orphans(group):
    told = abandoned(group)
    told.kill("m1", 5_500)
    assert found(orphaned, told) == []


def test_member_without_a_listener_may_be_the_owner(group):
    told = abandoned(group)
    told.start("m3", at_ms=6_500)
    assert found(orphaned, told) == []


def test_member_that_was_assigned_nothing_reports_assignments(group):
    told = abandoned(group)
    told.start("m3", at_ms=4_000)
    told.assign("m3", at_ms=4_500)
    assert found(orphaned, told) == [("orphaned", 1)]


def test_stall_after_the_faults_makes_it_inconclusive(group):
    with pytest.raises(Inconclusive):
        orphaned.CHECK.run(replace_beats(abandoned(group).evidence(), "m1", 10_000, 20_000))
