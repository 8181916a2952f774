"""Members that close without leaving their group, and what they may take for the end of their session."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import stays_after_close
from tests.suites.checks.consume_wire.heartbeat_story import FULL, HeartbeatStory
from tests.suites.checks.consume_wire.wire_story import WireStory

SESSION_MS, CLOSING_MS, CLOSES_FOR_MS = 6_000, 20_000, 100


def classic(heard_ms: float) -> WireStory:
    """m1 gets its last answer from its coordinator at a time, and closes later without leaving."""
    told = WireStory(final_ms=30_000, config={"session.timeout.ms": str(SESSION_MS)})
    told.start("m1")
    told.join("m1", -600)
    told.ask("m1", "SyncGroup", -590)
    told.assign("m1", 0, 1, at_ms=-500)
    told.ask("m1", "Heartbeat", heard_ms - 1)
    told.close("m1", CLOSING_MS, CLOSES_FOR_MS)
    return told


def new_protocol(heard_ms: float) -> HeartbeatStory:
    """The same of a member of a KIP-848 group."""
    told = HeartbeatStory(final_ms=30_000, config={"session.timeout.ms": str(SESSION_MS)})
    told.start("m1")
    told.connect("m1")
    told.beat("m1", -600, 0, FULL, told=1, given=(0, 1))
    told.assign("m1", 0, 1, at_ms=-500)
    told.beat("m1", heard_ms - 2, 1)
    told.close("m1", CLOSING_MS, CLOSES_FOR_MS)
    return told


def found(told) -> list[str]:
    return [each.anomaly for each in stays_after_close.run(told.evidence())]


@pytest.mark.parametrize("silent_ms", [0, SESSION_MS - 1])
@pytest.mark.parametrize("group", [classic, new_protocol])
def test_member_that_closes_without_leaving_within_its_session_is_found(group, silent_ms):
    assert found(group(CLOSING_MS + CLOSES_FOR_MS - max(silent_ms, 200))) == ["stays-after-close"]


@pytest.mark.parametrize("silent_ms", [SESSION_MS, 2 * SESSION_MS])
def test_classic_member_may_take_its_session_for_ended(silent_ms):
    assert found(classic(CLOSING_MS + CLOSES_FOR_MS - silent_ms)) == []


@pytest.mark.parametrize("silent_ms", [SESSION_MS, 2 * SESSION_MS])
def test_member_of_a_kip_848_group_leaves_after_any_silence(silent_ms):
    assert found(new_protocol(CLOSING_MS + CLOSES_FOR_MS - silent_ms)) == ["stays-after-close"]


def test_member_that_leaves_is_not_found():
    told = classic(CLOSING_MS - 500)
    told.ask("m1", "LeaveGroup", CLOSING_MS + 10)
    assert found(told) == []
