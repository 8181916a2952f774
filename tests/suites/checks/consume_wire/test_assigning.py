"""Members that do not send or apply the assignment of their group as the protocol says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from harness.model.consumer_rows import MemberPart
from harness.model.evidence import Evidence
from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import assignment_not_followed
from tests.suites.checks.consume_wire.wire_story import WireStory

COMPANION = "java@4.3.1"


def synced(
    told: WireStory,
    at_ms: float,
    generation: int,
    *given: int,
    member: str = "m1",
    leader: str = "m1",
    gives: Iterable[int] = (0, 1),
    assigns: bool | None = None,
    instance: str | None = None,
) -> None:
    """A member joins and asks for its assignment, with one for all if it leads."""
    told.join(member, at_ms, generation=generation, leader=leader, instance=instance)
    assigns = leader == member if assigns is None else assigns
    said = ("assignments",) if assigns else ()
    told.ask(
        member,
        "SyncGroup",
        at_ms + 10,
        asked=MemberPart("g", member, generation, said=said),
        gives=gives if assigns else (),
        given=given,
    )


def group() -> WireStory:
    told = WireStory(final_ms=20_000)
    told.start("m1")
    return told


def found(story: WireStory | Evidence) -> list[str]:
    evidence = story if isinstance(story, Evidence) else story.evidence()
    return [each.anomaly for each in assignment_not_followed.run(evidence)]


def arises(story: WireStory) -> int:
    [requirement] = assignment_not_followed.CHECK.requirements
    return requirement.arises(story.evidence())


def test_a_group_that_does_as_it_should():
    told = group()
    told.start("m2")
    synced(told, -600, 1, 0)
    synced(told, -600, 1, 1, member="m2")
    told.assign("m1", 0, at_ms=-500)
    told.assign("m2", 1, at_ms=-500)
    assert (found(told), arises(told)) == ([], 4)


def test_a_leader_assigns():
    told = group()
    synced(told, -600, 1, assigns=False)
    assert found(told) == ["leader-assigns-nothing"]


def test_a_static_leader_may_be_told_to_assign_nothing():
    told = group()
    synced(told, -600, 1, assigns=False, instance="m1")
    assert found(told) == []


def test_a_leader_assigns_each_partition_once():
    told = group()
    synced(told, -600, 1, gives=(0, 1, 1))
    assert found(told) == ["assigned-to-two"]


def test_a_follower_does_not_assign():
    told = group()
    synced(told, -600, 1, leader="m2", assigns=True)
    assert found(told) == ["follower-assigns"]


def test_a_listener_learns_of_what_was_given():
    told = group()
    synced(told, -600, 1, 0)
    told.assign("m1", 0, 1, at_ms=-500)
    assert found(told) == ["assigned-not-given"]


def test_a_listener_learns_of_nothing_before_the_answer():
    told = group()
    synced(told, -600, 1, 0)
    told.assign("m1", 0, at_ms=-595)
    assert found(told) == ["assigned-not-given"]


def test_a_listener_learns_of_all_that_was_given():
    told = group()
    synced(told, -600, 1, 0, 1)
    told.assign("m1", 0, at_ms=-500)
    assert found(told) == ["given-not-assigned"]


def test_a_cooperative_listener_learns_of_what_is_new():
    told = group()
    synced(told, -600, 1, 0)
    told.assign("m1", 0, at_ms=-500)
    synced(told, 1_000, 2, 0, 1)
    told.assign("m1", 1, at_ms=1_100)
    assert found(told) == []


def test_partitions_may_be_told_one_by_one():
    told = group()
    synced(told, -600, 1, 0, 1)
    told.assign("m1", 0, 1, at_ms=-500)
    told.revoke("m1", 0, at_ms=100)
    told.assign("m1", 0, at_ms=200)
    assert found(told) == []


def test_an_assignment_may_be_told_after_the_next_one_has_come():
    told = group()
    synced(told, -600, 1, 0)
    synced(told, 1_000, 2, 1)
    told.assign("m1", 0, at_ms=1_100)
    told.revoke("m1", 0, at_ms=1_110)
    told.assign("m1", 1, at_ms=1_120)
    assert found(told) == []


def test_an_old_assignment_is_not_told_once_a_later_one_was():
    told = group()
    synced(told, -600, 1, 0)
    synced(told, 1_000, 2, 1)
    told.assign("m1", 1, at_ms=1_100)
    told.revoke("m1", 1, at_ms=1_110)
    told.assign("m1", 0, at_ms=1_120)
    assert found(told) == ["assigned-not-given"]


def test_a_consumer_that_assigns_itself_is_not_judged():
    told = group()
    told.assign("m1", 0, 1, at_ms=-500)
    assert (found(told), arises(told)) == ([], 0)


def test_a_companion_is_not_judged():
    told = WireStory(final_ms=20_000)
    told.start("m1", companion=COMPANION)
    synced(told, -600, 1, 0, assigns=False)
    told.assign("m1", 1, at_ms=-500)
    assert found(told) == []


def test_an_answer_that_could_not_be_read_leaves_it_open():
    told = group()
    synced(told, -600, 1)
    told.assign("m1", 0, at_ms=-500)
    evidence = told.evidence()
    frames = tuple(changed(frame, is_cut=True) for frame in evidence.frames)
    with pytest.raises(Inconclusive):
        found(replace(evidence, frames=frames))
