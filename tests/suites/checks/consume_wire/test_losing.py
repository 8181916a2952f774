"""Members that take partitions for revoked, or commit for them, although they have lost them."""

from __future__ import annotations

import pytest

from harness.model.consumer_rows import MemberPart
from suites.checks.consume_wire import lost_as_revoked
from tests.suites.checks.consume_wire.wire_story import WireStory

UNKNOWN, OUTDATED, REBALANCES, MOVED = 25, 22, 27, 16
NOT_TOLD = [UNKNOWN, OUTDATED]


def member() -> WireStory:
    """Return a trial in which m1 owns both partitions in generation 1."""
    told = WireStory(final_ms=20_000)
    told.start("m1")
    told.join("m1", -600)
    told.assign("m1", 0, 1, at_ms=-500)
    return told


def found(story: WireStory) -> list[str]:
    return [each.anomaly for each in lost_as_revoked.run(story.evidence())]


def arises(story: WireStory) -> int:
    [requirement] = lost_as_revoked.CHECK.requirements
    return requirement.arises(story.evidence())


@pytest.mark.parametrize("code", NOT_TOLD)
@pytest.mark.parametrize("lost", [True, False])
def test_partitions_of_a_removed_member_are_lost(code, lost):
    told = member()
    told.ask("m1", "Heartbeat", 1_000, code=code)
    told.revoke("m1", 0, 1, at_ms=1_100, lost=lost)
    assert found(told) == ([] if lost else ["lost-as-revoked"])
    assert arises(told) == 1


@pytest.mark.parametrize("lost", [True, False])
def test_partitions_of_a_member_that_left_by_itself_are_lost(lost):
    told = member()
    told.ask("m1", "LeaveGroup", 1_000)
    told.revoke("m1", 0, 1, at_ms=3_000, lost=lost)
    assert found(told) == ([] if lost else ["lost-as-revoked"])
    assert arises(told) == 1


def _closes(told: WireStory) -> None:
    told.close("m1", 900)


def _unsubscribes(told: WireStory) -> None:
    told.call("m1", "unsubscribe", 900)


def _was_told(told: WireStory) -> None:
    told.ask("m1", "Heartbeat", 900, code=REBALANCES)


def _grows(told: WireStory) -> None:
    told.fault("topic_growth", 500, 600)


def _gives_up_nothing(told: WireStory) -> None:
    told.revoke("m1", 0, 1, at_ms=950, lost=True)
    told.revoke("m1", at_ms=1_050)
    told.assign("m1", 0, 1, at_ms=1_060, generation=2)


@pytest.mark.parametrize(
    "excuse", [_closes, _unsubscribes, _was_told, _grows, _gives_up_nothing], ids=lambda each: each.__name__
)
def test_a_member_that_gives_up_for_another_reason_is_not_judged(excuse):
    told = member()
    excuse(told)
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN)
    told.revoke("m1", 0, 1, at_ms=1_100)
    assert found(told) == []
    assert arises(told) == 0


def test_an_error_about_another_generation_or_of_another_kind_is_no_loss():
    told = member()
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN, asked=MemberPart("g", "m1", 0))
    told.ask("m1", "Heartbeat", 1_050, code=MOVED)
    told.revoke("m1", 0, 1, at_ms=1_100)
    assert list(lost_as_revoked.losses(told.evidence())) == []


def test_an_answer_that_never_reached_the_client_is_no_loss():
    told = member()
    told.fault("partition", 500, 1_500)
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN)
    told.revoke("m1", 0, 1, at_ms=1_100)
    assert list(lost_as_revoked.losses(told.evidence())) == []


def test_a_commit_counts_once_the_client_has_certainly_read_the_answer():
    told = member()
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN)
    told.ask("m1", "OffsetCommit", 1_400, code=UNKNOWN)
    assert found(told) == []
    told.ask("m1", "OffsetCommit", 1_600, code=UNKNOWN)
    assert found(told) == ["commit-of-a-lost-generation"]


def test_a_commit_in_the_next_generation_is_as_it_should_be():
    told = member()
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN)
    told.join("m1", 1_100, generation=2)
    told.ask("m1", "OffsetCommit", 3_000, asked=MemberPart("g", "m1", 2))
    assert found(told) == []


def test_a_commit_in_the_same_generation_is_as_it_should_be_once_the_member_is_in_it_again():
    told = member()
    told.ask("m1", "Heartbeat", 1_000, code=OUTDATED)
    told.join("m1", 1_700)
    told.ask("m1", "OffsetCommit", 3_000)
    assert found(told) == []
    told.ask("m1", "OffsetCommit", 1_600, code=OUTDATED)
    assert found(told) == ["commit-of-a-lost-generation"]


def test_a_companion_is_not_judged():
    told = WireStory(final_ms=20_000)
    told.start("m1", companion="java@4.3.1")
    told.join("m1", -600)
    told.ask("m1", "Heartbeat", 1_000, code=UNKNOWN)
    told.revoke("m1", 0, 1, at_ms=1_100)
    assert found(told) == []
