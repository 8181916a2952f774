"""Members that give up other partitions over a rebalance than their protocol says."""

from __future__ import annotations

import pytest

from harness.model.consumer_rows import MemberPart
from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import gives_up_otherwise
from tests.suites.checks.consume_wire.wire_story import WireStory
from tests.suites.story import ns

EAGER, COOPERATIVE = "range", "cooperative-sticky"


def rebalance(told: WireStory, at_ms: float, generation: int, *given: int, protocol: str = EAGER) -> None:
    """m1 joins, and SyncGroup gives it partitions."""
    told.join("m1", at_ms, generation=generation, protocol=protocol)
    told.ask("m1", "SyncGroup", at_ms + 10, given=given, asked=_as(generation))


def _as(generation: int) -> MemberPart:
    return MemberPart("g", "m1", generation)


def member(protocol: str) -> WireStory:
    """Return a trial in which m1 owns both partitions in generation 1."""
    told = WireStory(final_ms=20_000)
    told.start("m1")
    rebalance(told, -600, 1, 0, 1, protocol=protocol)
    told.assign("m1", 0, 1, at_ms=-500)
    return told


def found(story: WireStory) -> list[str]:
    return [each.anomaly for each in gives_up_otherwise.run(story.evidence())]


def arises(story: WireStory) -> int:
    [requirement] = gives_up_otherwise.CHECK.requirements
    return requirement.arises(story.evidence())


@pytest.mark.parametrize("lost", [True, False])
def test_an_eager_member_gives_up_everything_first(lost):
    told = member(EAGER)
    told.revoke("m1", 0, 1, at_ms=990, lost=lost)
    rebalance(told, 1_000, 2, 0)
    told.assign("m1", 0, at_ms=1_100, generation=2)
    assert (found(told), arises(told)) == ([], 1)


def test_an_eager_member_that_keeps_something_is_found():
    told = member(EAGER)
    told.revoke("m1", 1, at_ms=990)
    rebalance(told, 1_000, 2, 0)
    told.assign("m1", 0, at_ms=1_100, generation=2)
    assert found(told) == ["kept-over-a-rebalance"]


def test_an_eager_client_may_report_partitions_one_by_one():
    told = member(EAGER)
    told.revoke("m1", 0, 1, at_ms=990)
    rebalance(told, 1_000, 2, 0, 1)
    told.assign("m1", 0, at_ms=1_100, generation=2)
    told.assign("m1", 1, at_ms=1_101, generation=2)
    assert found(told) == []


def moved(*revoked: int, again_ms: float | None = 1_110) -> WireStory:
    """Return a trial in which the second rebalance takes partition 1 from m1, which then joins a third time."""
    told = member(COOPERATIVE)
    rebalance(told, 1_000, 2, 0, protocol=COOPERATIVE)
    told.revoke("m1", *revoked, at_ms=1_100)
    told.assign("m1", at_ms=1_101, generation=2)
    if again_ms is not None:
        rebalance(told, again_ms, 3, 0, protocol=COOPERATIVE)
        told.assign("m1", at_ms=again_ms + 50, generation=3)
    return told


def test_a_cooperative_member_gives_up_what_moves_and_joins_again():
    assert (found(moved(1)), arises(moved(1))) == ([], 1)


def test_a_cooperative_member_that_gives_up_what_it_keeps_is_found():
    assert found(moved(0, 1)) == ["revoked-what-it-keeps"]


def test_a_cooperative_member_that_does_not_join_again_is_found():
    assert found(moved(1, again_ms=None)) == ["no-second-rebalance"]


def test_an_unknown_protocol_is_not_judged():
    told = WireStory(final_ms=20_000)
    told.start("m1")
    for at_ms, generation in ((-600, 1), (1_000, 2)):
        rebalance(told, at_ms, generation, 0, protocol="of my own")
        told.assign("m1", 0, at_ms=at_ms + 50, generation=generation)
    assert (found(told), arises(told)) == ([], 0)


def test_a_member_that_offers_both_protocols_may_be_eager():
    told = WireStory(final_ms=20_000)
    told.start("m1")
    for at_ms, generation in ((-600, 1), (1_000, 2)):
        told.join("m1", at_ms, generation=generation, protocol=COOPERATIVE, offered=(COOPERATIVE, EAGER))
        told.ask("m1", "SyncGroup", at_ms + 10, given=(0, 1), asked=_as(generation))
        told.assign("m1", 0, 1, at_ms=at_ms + 50, generation=generation)
        told.revoke("m1", 0, 1, at_ms=at_ms + 100)
    assert (found(told), arises(told)) == ([], 0)


def _closes(told: WireStory) -> None:
    told.close("m1", 1_090)


def _unsubscribes(told: WireStory) -> None:
    told.call("m1", "unsubscribe", 1_090)


def _leaves(told: WireStory) -> None:
    told.ask("m1", "LeaveGroup", 1_090)


@pytest.mark.parametrize("reason", [_closes, _unsubscribes, _leaves], ids=lambda each: each.__name__)
def test_what_an_application_gives_up_is_not_judged(reason):
    told = moved(0, 1, again_ms=None)
    reason(told)
    assert (found(told), arises(told)) == ([], 0)


def _works(told: WireStory) -> None:
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=1_200, took_ms=1_500)


def _sleeps(told: WireStory) -> None:
    told.freeze("m1", 1_200, 2_700)


def _is_cut_off(told: WireStory) -> None:
    told.fault("partition", 1_500, 2_000)


def _is_killed(told: WireStory) -> None:
    told.kill("m1", 3_000)


@pytest.mark.parametrize("reason", [_works, _sleeps, _is_cut_off, _is_killed], ids=lambda each: each.__name__)
def test_a_member_that_could_not_join_again_is_not_accused(reason):
    told = moved(1, again_ms=None)
    reason(told)
    assert found(told) == []


def test_a_process_that_stalls_cannot_be_judged():
    told = moved(1, again_ms=None)
    told.silent.add("m1")
    told.events += [each for each in told._beats("m1") if not ns(1_100) < each.mono_ns < ns(5_000)]
    with pytest.raises(Inconclusive):
        found(told)
