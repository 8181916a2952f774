"""Members that go on trusting a coordinator that answers nothing for a whole session."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume_wire import session_ignored
from tests.suites.checks.consume_wire.wire_story import WireStory

#: The session of these trials ends six seconds after the last answer, which comes at 1 s.
LAST_MS, SESSION_MS, REQUEST_MS = 1_001, 6_000, 5_000
IN_TIME_MS, LATE_MS, TOO_LATE_MS = 7_500, 10_000, 16_000


def silent() -> WireStory:
    """Return a trial in which no heartbeat of m1 is answered from 2 s on. The client has another connection as well."""
    told = WireStory(final_ms=40_000, config={"request.timeout.ms": str(REQUEST_MS)})
    told.start("m1")
    told.join("m1", -600)
    told.ask("m1", "SyncGroup", -590, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=-580)
    told.ask("m1", "Heartbeat", LAST_MS - 1)
    for at_ms in range(2_000, 6_000, 1_000):
        told.ask("m1", "Heartbeat", at_ms, until_ms=30_000, held=True)
    return told


def found(story: WireStory) -> list[str]:
    return [each.anomaly for each in session_ignored.run(story.evidence())]


def arises(story: WireStory) -> int:
    [requirement] = session_ignored.CHECK.requirements
    return requirement.arises(story.evidence())


def _searches(told: WireStory, at_ms: float) -> None:
    told.ask("m1", "FindCoordinator", at_ms, until_ms=30_000, held=True)


def _hangs_up(told: WireStory, at_ms: float) -> None:
    told.hang_up("m1", at_ms)


def _joins(told: WireStory, at_ms: float) -> None:
    told.join("m1", at_ms, until_ms=30_000)


def _leaves(told: WireStory, at_ms: float) -> None:
    told.ask("m1", "LeaveGroup", at_ms, until_ms=30_000, held=True)


def _changes(told: WireStory, at_ms: float) -> None:
    told.connection.pop("m1")
    told.ask("m1", "Heartbeat", at_ms, until_ms=30_000, held=True)


ACTS = [_searches, _hangs_up, _joins, _leaves, _changes]


@pytest.mark.parametrize("act", ACTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("at_ms", "codes"),
    [
        (IN_TIME_MS, []),
        (LATE_MS, ["session-ignored"]),
        (TOO_LATE_MS, ["coordinator-trusted-for-ever"]),
    ],
)
def test_a_member_acts_after_its_session(act, at_ms, codes):
    told = silent()
    act(told, at_ms)
    assert (found(told), arises(told)) == (codes, 1)


def test_a_member_that_does_nothing_is_found():
    assert found(silent()) == ["coordinator-trusted-for-ever"]


def test_an_answer_ends_the_silence():
    told = silent()
    told.ask("m1", "OffsetCommit", 5_000)
    _searches(told, 10_000)
    assert found(told) == []


def test_a_search_before_the_session_ends_is_no_situation():
    told = silent()
    _searches(told, 4_000)
    assert (found(told), arises(told)) == ([], 0)


def _closes(told: WireStory) -> None:
    told.close("m1", 8_500)


def _is_frozen(told: WireStory) -> None:
    told.freeze("m1", 3_000, 9_500)


def _works(told: WireStory) -> None:
    told.write(1, 0)
    told.take("m1", 0, 0, at_ms=3_000, took_ms=6_000)


def _is_cut_off(told: WireStory) -> None:
    told.fault("partition", 7_000, 9_000)


@pytest.mark.parametrize("excuse", [_closes, _is_frozen, _works, _is_cut_off], ids=lambda each: each.__name__)
def test_a_member_that_cannot_act_or_be_seen_is_not_judged(excuse):
    told = silent()
    excuse(told)
    _searches(told, LATE_MS)
    assert found(told) == []


def test_a_member_without_a_heartbeat_is_judged_by_another_check():
    told = WireStory(final_ms=40_000)
    told.start("m1")
    told.join("m1", -600)
    told.ask("m1", "SyncGroup", -590)
    assert (found(told), arises(told)) == ([], 0)


def test_a_process_that_stalls_cannot_be_judged():
    told = silent()
    told.silent.add("m1")
    told.events += [event for event in told._beats("m1") if not 5_003 < event.mono_ns / 1e9 < 5_008]
    with pytest.raises(Inconclusive):
        found(told)
