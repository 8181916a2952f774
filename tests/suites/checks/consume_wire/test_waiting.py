"""Members that give up a JoinGroup while their group rebalances: after a time, or because of a wakeup."""

from __future__ import annotations

import pytest

from harness.model.rows import FaultRow
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import join_given_up, wakeup_joins_again
from tests.suites.checks.consume_wire.wire_story import WireStory
from tests.suites.story import ns

REFUSED, REBALANCES = 25, 27


def waiting() -> WireStory:
    """Return a trial in which m1 has an id and joins at 1 s."""
    told = WireStory(final_ms=50_000)
    told.start("m1")
    told.join("m1", 990, code=79)
    return told


def given_up(story: WireStory) -> list[str]:
    return [found.anomaly for found in join_given_up.run(story.evidence())]


def cut() -> WireStory:
    """Return a trial in which m1 gives up its join after four seconds, and joins on another connection."""
    told = waiting()
    told.join("m1", 1_000, answered=False)
    told.hang_up("m1", 5_000)
    told.join("m1", 5_010, until_ms=8_000)
    return told


def test_a_join_that_waits_for_the_group_is_as_it_should_be():
    told = waiting()
    told.join("m1", 1_000, until_ms=8_000)
    assert given_up(told) == []
    assert len(join_given_up.long_waits(told.evidence())) == 1


def test_a_join_that_is_cut_is_found():
    assert given_up(cut()) == ["join-given-up"]


def test_a_second_join_on_the_same_connection_gives_the_first_one_up():
    told = waiting()
    told.join("m1", 1_000, until_ms=8_000)
    told.join("m1", 5_000, until_ms=8_001)
    assert given_up(told) == ["join-given-up"]


def test_a_short_wait_and_one_beyond_the_rebalance_timeout_are_not_judged():
    for end_ms in (3_000, 10_700):
        told = waiting()
        told.join("m1", 1_000, answered=False)
        told.hang_up("m1", end_ms)
        assert given_up(told) == []
        assert join_given_up.long_waits(told.evidence()) == []


def _closes(told: WireStory) -> None:
    told.close("m1", 4_900)


def _is_killed(told: WireStory) -> None:
    told.kill("m1", 5_200)


def _sleeps(told: WireStory) -> None:
    told.freeze("m1", 2_000, 3_000)


def _cut_off(told: WireStory) -> None:
    spec = FaultSpec("disconnect", AtTime(4_900), 200)
    window = ns(4_900), ns(5_100)
    told.faults.append(FaultRow(0, spec, window, window, 1))


def _leaves(told: WireStory) -> None:
    told.ask("m1", "LeaveGroup", 4_900)


def _is_told(told: WireStory) -> None:
    told.ask("m1", "Heartbeat", 4_500, until_ms=4_900, code=REFUSED)


def _subscribes(told: WireStory) -> None:
    told.call("m1", "subscribe", 4_900)


@pytest.mark.parametrize(
    "excuse",
    [_closes, _is_killed, _sleeps, _cut_off, _leaves, _is_told, _subscribes],
    ids=lambda each: each.__name__,
)
def test_a_member_with_another_reason_is_not_accused(excuse):
    told = waiting()
    told.join("m1", 1_000, answered=False)
    excuse(told)
    told.hang_up("m1", 5_000)
    assert given_up(told) == []


def test_a_rebalance_is_no_reason():
    told = waiting()
    told.ask("m1", "Heartbeat", 990, until_ms=1_500, code=REBALANCES)
    told.join("m1", 1_000, answered=False)
    told.hang_up("m1", 5_000)
    assert given_up(told) == ["join-given-up"]


def test_a_broker_that_hangs_up_is_not_the_client():
    told = waiting()
    told.join("m1", 1_000, answered=False)
    told.hang_up("m1", 5_000, by="broker")
    assert given_up(told) == []


def test_a_process_that_stalls_cannot_be_judged():
    told = cut()
    told.silent.add("m1")
    told.events += [event for event in told._beats("m1") if not ns(1_000) < event.mono_ns < ns(5_000)]
    with pytest.raises(Inconclusive):
        join_given_up.run(told.evidence())


def woken(at_ms: float) -> WireStory:
    """Return a trial in which m1 is woken up, and joins a second time at 3 s, before the answer to the first."""
    told = waiting()
    told.join("m1", 1_000, until_ms=8_000)
    told.call("m1", "wakeup", at_ms)
    told.join("m1", 3_000, until_ms=8_001)
    return told


def test_a_wakeup_that_ends_the_join_is_found():
    assert [found.anomaly for found in wakeup_joins_again.run(woken(2_900).evidence())] == [
        "wakeup-joins-again"
    ]


def test_a_wakeup_before_the_join_is_not_its_end():
    assert wakeup_joins_again.run(woken(900).evidence()) == []


def test_a_join_that_goes_on_after_a_wakeup_is_as_it_should_be():
    told = waiting()
    told.join("m1", 1_000, until_ms=8_000)
    told.call("m1", "wakeup", 2_900)
    assert wakeup_joins_again.run(told.evidence()) == []
    assert len(wakeup_joins_again.interrupted(told.evidence())) == 1
