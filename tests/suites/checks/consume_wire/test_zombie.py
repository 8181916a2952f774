"""Members that give records although they know that they are out of their group."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import zombie
from tests.suites.checks.consume_wire.heartbeat_story import FULL, HeartbeatStory
from tests.suites.checks.consume_wire.wire_story import WireStory

UNKNOWN, OUTDATED, FENCED, REBALANCES, MOVED = 25, 22, 110, 27, 16
#: When the member is told, when it certainly knows it, and when it must have stopped.
TOLD_MS, KNOWN_MS, LATE_MS = 1_000, 1_501, 2_502


def classic(code: int = UNKNOWN) -> WireStory:
    """Return a trial in which m1, which owns two partitions, is told that it is no member."""
    told = WireStory(final_ms=20_000)
    told.start("m1")
    told.write(9, 0)
    told.join("m1", -600)
    told.assign("m1", 0, 1, at_ms=-500)
    told.ask("m1", "Heartbeat", TOLD_MS, code=code)
    return told


def new_protocol(code: int = FENCED) -> HeartbeatStory:
    """The same with KIP-848."""
    told = HeartbeatStory(final_ms=20_000)
    told.start("m1")
    told.write(9, 0)
    told.connect("m1")
    told.beat("m1", -600, 0, FULL, told=1, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=-500)
    told.beat("m1", TOLD_MS - 1, 1, code=code)
    return told


def found(told) -> list[tuple[str, str, int]]:
    return [(each.anomaly, each.requirement, each.count) for each in zombie.run(told.evidence())]


def arises(told) -> list[int]:
    return [each.arises(told.evidence()) for each in zombie.CHECK.requirements]


@pytest.mark.parametrize("code", [UNKNOWN, OUTDATED])
def test_member_of_a_classic_group_that_reads_on_is_found(code):
    told = classic(code)
    told.take("m1", 0, 0, 1, at_ms=LATE_MS)
    assert found(told) == [("zombie", "CSM-GRP-12", 2)]
    assert arises(told) == [1, 0]


@pytest.mark.parametrize("code", [UNKNOWN, FENCED])
def test_fenced_member_that_reads_on_is_found(code):
    told = new_protocol(code)
    told.take("m1", 0, 0, 1, at_ms=LATE_MS)
    assert found(told) == [("zombie", "CSM-NGP-05", 2)]
    assert arises(told) == [0, 1]


def test_member_that_left_by_itself_and_reads_on_is_found():
    told = classic(0)
    told.ask("m1", "LeaveGroup", 2_000)
    told.take("m1", 0, 0, at_ms=3_600)
    assert found(told) == [("zombie", "CSM-GRP-12", 1)]


@pytest.mark.parametrize("told", [classic(REBALANCES), classic(MOVED), new_protocol(MOVED)])
def test_other_errors_end_no_membership(told):
    told.take("m1", 0, 0, at_ms=LATE_MS)
    assert found(told) == [] and arises(told) == [0, 0]


@pytest.mark.parametrize("group", [classic, new_protocol])
def test_what_was_taken_before_the_member_must_have_stopped_does_not_count(group):
    told = group()
    told.take("m1", 0, 0, at_ms=LATE_MS - 5, took_ms=3_000)
    assert found(told) == []


def _joins(told: WireStory) -> None:
    told.join("m1", 1_900, generation=2)


def _looks_up(told: WireStory) -> None:
    told.ask("m1", "FindCoordinator", 1_900)


def _is_sent_elsewhere(told: WireStory) -> None:
    told.ask("m1", "OffsetCommit", 1_900, code=MOVED)


def _hangs_up(told: WireStory) -> None:
    told.hang_up("m1", 1_900)


def _closes(told: WireStory) -> None:
    told.close("m1", 1_900, 9_000)


def _is_given_it(told: WireStory) -> None:
    told.assign("m1", 0, at_ms=1_900)


@pytest.mark.parametrize(
    "excuse",
    [_joins, _looks_up, _is_sent_elsewhere, _hangs_up, _closes, _is_given_it],
    ids=lambda each: each.__name__,
)
def test_member_that_may_read_again_or_cannot_join_is_not_found(excuse):
    told = classic()
    excuse(told)
    told.take("m1", 0, 0, at_ms=LATE_MS)
    assert found(told) == []


def test_fenced_member_that_has_joined_again_may_read():
    told = new_protocol()
    told.beat("m1", 1_900, 0, FULL, told=3, given=(0,))
    told.take("m1", 0, 0, at_ms=LATE_MS)
    assert found(told) == []


def test_records_of_another_process_or_a_companion_do_not_count():
    told = classic()
    told.start("m2")
    told.take("m2", 0, 0, at_ms=LATE_MS)
    assert found(told) == []
    other = WireStory(final_ms=20_000)
    other.start("m1", companion="java@4.3.1")
    other.join("m1", -600)
    other.ask("m1", "Heartbeat", TOLD_MS, code=UNKNOWN)
    other.write(1, 0)
    other.take("m1", 0, 0, at_ms=LATE_MS)
    assert found(other) == []
