"""Fetch requests that do not fit their session, and those that repeat what may have been lost."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import fetch_session_broken
from tests.suites.checks.consume_wire.fetch_story import FetchStory

REFUSED = 71


def session(last_answer_ms: float | None = 301) -> FetchStory:
    """Return a trial in which m1 begins a session and goes on twice, with epochs 1 and 2."""
    told = FetchStory(final_ms=20_000, end_ms=20_000)
    told.start("m1")
    told.ask(100, 101, session_epoch=0)
    told.ask(200, 201, session_epoch=1)
    told.ask(300, last_answer_ms, session_epoch=2)
    return told


def found(told: FetchStory) -> list[tuple[str, str]]:
    return [(each.anomaly, each.level) for each in fetch_session_broken.run(told.evidence())]


def test_each_request_has_the_next_epoch():
    told = session()
    told.ask(2_000, 2_001, session_epoch=3)
    assert found(told) == []
    assert fetch_session_broken.CHECK.requirements[0].arises(told.evidence()) == 3


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_another_epoch_is_wrong(epoch):
    told = session()
    told.ask(2_000, 2_001, session_epoch=epoch)
    assert found(told) == [("fetch-session-epoch", "MUST")]


@pytest.mark.parametrize("answer_ms", [None, 301])
@pytest.mark.parametrize(
    ("epoch", "anomaly"),
    [(2, "fetch-session-after-loss"), (1, "fetch-session-epoch"), (4, "fetch-session-epoch")],
)
def test_epoch_may_be_repeated_if_the_connection_ended_before_its_answer_was_read(answer_ms, epoch, anomaly):
    told = session(answer_ms)
    told.hang_up(1, 310)
    told.ask(2_000, 2_001, session_epoch=epoch, conn=2)
    assert [name for name, _ in found(told)] == [anomaly]


def test_epoch_may_not_be_repeated_once_the_answer_was_read():
    told = session()
    told.hang_up(1, 1_900)
    told.ask(2_000, 2_001, session_epoch=2, conn=2)
    assert found(told) == [("fetch-session-epoch", "MUST")]


def test_session_ends_with_a_refusal():
    told = session(last_answer_ms=None)
    told.frames.pop()
    told.ask(300, 301, session_epoch=2, session_error=REFUSED)
    told.ask(2_000, 2_001, session_epoch=3)
    assert found(told) == [("fetch-session-refused", "MUST")]


def test_session_of_another_process_was_not_given():
    told = session()
    told.start("m2")
    told.ask(2_000, 2_001, session_epoch=3, member="m2", conn=2)
    assert found(told) == [("fetch-session-not-given", "MUST")]
