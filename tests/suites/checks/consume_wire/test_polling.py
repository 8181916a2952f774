"""Members that stay in their group although their application does not poll."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import stays_without_polls
from tests.suites.checks.consume_wire.wire_story import WireStory

UNKNOWN = 25
#: The limit of these trials, and the turn of m1, from 1 s on.
LIMIT_MS, WORK_MS, END_MS = 6_000, 9_000, 10_000


def working(instance: str | None = None, not_set: dict[str, str] | None = None) -> WireStory:
    """Return a trial in which m1 works for nine seconds on a turn, although it may work for six."""
    told = WireStory(final_ms=30_000, config={"max.poll.interval.ms": str(LIMIT_MS)}, not_set=not_set or {})
    told.start("m1")
    told.join("m1", -600, instance=instance)
    told.ask("m1", "SyncGroup", -590, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=-580)
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=1_000, took_ms=WORK_MS)
    return told


def found(story: WireStory) -> list[str]:
    return [each.anomaly for each in stays_without_polls.run(story.evidence())]


def arises(story: WireStory) -> int:
    [requirement] = stays_without_polls.CHECK.requirements
    return requirement.arises(story.evidence())


def test_a_member_that_leaves_and_comes_back_is_as_it_should_be():
    told = working()
    told.ask("m1", "LeaveGroup", 7_100)
    told.join("m1", END_MS + 10, generation=2)
    assert (found(told), arises(told)) == ([], 1)


def test_a_member_that_does_not_leave_is_found():
    told = working()
    told.ask("m1", "Heartbeat", 8_000)
    assert found(told) == ["stays-without-polls"]


def test_a_member_that_leaves_after_its_turn_is_found():
    told = working()
    told.ask("m1", "LeaveGroup", END_MS + 10)
    assert found(told) == ["stays-without-polls"]


def test_a_member_that_does_not_come_back_is_found():
    told = working()
    told.ask("m1", "LeaveGroup", 7_100)
    assert found(told) == ["stays-away"]


def test_a_member_that_closes_soon_need_not_come_back():
    told = working()
    told.ask("m1", "LeaveGroup", 7_100)
    told.close("m1", END_MS + 5_000)
    assert found(told) == []


@pytest.mark.parametrize(("at_ms", "codes"), [(7_500, []), (8_500, ["heartbeats-without-polls"])])
def test_a_static_member_stops_its_heartbeats_within_a_second(at_ms, codes):
    told = working(instance="m1")
    told.ask("m1", "Heartbeat", at_ms)
    assert (found(told), arises(told)) == (codes, 1)


def _is_removed(told: WireStory) -> None:
    told.ask("m1", "Heartbeat", 5_000, code=UNKNOWN)


def _joins_again(told: WireStory) -> None:
    told.join("m1", 900, answered=False)


def _is_frozen(told: WireStory) -> None:
    told.freeze("m1", 2_000, 3_000)


def _is_cut_off(told: WireStory) -> None:
    told.fault("partition", 6_000, 7_000)


def _closes(told: WireStory) -> None:
    told.close("m1", 7_500)


@pytest.mark.parametrize(
    "excuse", [_is_removed, _joins_again, _is_frozen, _is_cut_off, _closes], ids=lambda each: each.__name__
)
def test_a_process_that_is_no_undisturbed_member_is_not_judged(excuse):
    told = working()
    excuse(told)
    assert (found(told), arises(told)) == ([], 0)


def test_a_turn_within_the_slack_is_not_judged():
    told = working()
    told.config["max.poll.interval.ms"] = str(WORK_MS - 500)
    assert (found(told), arises(told)) == ([], 0)


def test_a_client_without_such_a_limit_is_not_judged():
    assert found(working(not_set={"max.poll.interval.ms": "it has none"})) == []


def test_a_process_that_stalls_cannot_be_judged():
    told = working()
    told.silent.add("m1")
    told.events += [event for event in told._beats("m1") if not 5_003 < event.mono_ns / 1e9 < 5_009]
    with pytest.raises(Inconclusive):
        found(told)
