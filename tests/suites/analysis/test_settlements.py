"""Changes of a group's members, and whether each partition has one owner before the next change."""

from __future__ import annotations

from suites.analysis.consuming.settlements import settlements
from tests.suites.checks.consume.group_story import GroupStory, ns


def joined(told, member, at_ms):
    told.start(member, at_ms=at_ms)
    told.done("subscribe", member, at_ms)


def of(told):
    """Return (process, when it changed, when the group had settled, what was shared) of each change, in ms."""
    ms = lambda at_ns: None if at_ns is None else (at_ns - ns(0)) // 1_000_000  # noqa: E731
    return [
        (each.process, ms(each.at_ns), ms(each.settled_ns), each.shared)
        for each in settlements(told.evidence())
    ]


def story():
    """m1 owns both partitions; m2 joins at 1 s and gets one at 2 s."""
    told = GroupStory(heal_ms=20_000, final_ms=30_000)
    joined(told, "m1", -900)
    told.assign("m1", 0, 1, at_ms=-800)
    joined(told, "m2", 1_000)
    told.revoke("m1", 0, 1, at_ms=1_500)
    told.assign("m1", 0, at_ms=2_000, generation=2)
    return told


def test_a_group_has_settled_once_each_partition_has_one_owner():
    told = story()
    told.assign("m2", 1, at_ms=2_500, generation=2)
    told.kill("m2", 6_000)
    told.revoke("m1", 0, at_ms=12_000)
    told.assign("m1", 0, 1, at_ms=13_000, generation=3)
    assert of(told) == [("m2", 1_000, 2_500, ()), ("m2", 6_000, 13_000, ())]


def test_a_group_that_has_no_second_of_rest_has_not_settled():
    told = story()
    told.assign("m2", 1, at_ms=2_500, generation=2)
    told.kill("m2", 3_499)
    assert of(told)[0] == ("m2", 1_000, None, ())


def test_a_partition_without_an_owner_has_not_settled():
    assert of(story()) == [("m2", 1_000, None, ())]


def test_a_partition_with_two_owners_is_shared():
    told = story()
    told.assign("m2", 0, 1, at_ms=2_500, generation=2)
    assert of(told) == [("m2", 1_000, None, (0,))]


def test_two_processes_may_report_in_either_order():
    told = GroupStory(heal_ms=20_000, final_ms=30_000)
    joined(told, "m1", -900)
    told.assign("m1", 0, 1, at_ms=-800)
    joined(told, "m2", 1_000)
    told.assign("m2", 1, at_ms=2_000, generation=2)
    told.revoke("m1", 1, at_ms=2_999)
    assert of(told) == [("m2", 1_000, 2_999, ())]


def test_a_member_that_closes_changes_the_group():
    told = story()
    told.assign("m2", 1, at_ms=2_500, generation=2)
    told.close("m2", 8_000, took_ms=200)
    told.assign("m1", 0, 1, at_ms=9_000, generation=3)
    assert [each[:3] for each in of(told)][-1] == ("m2", 8_000, 9_000)
