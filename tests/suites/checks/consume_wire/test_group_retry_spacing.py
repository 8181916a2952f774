"""group-retry-spacing: how soon a request is repeated after an answer to wait."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.group_retry_spacing import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements
BACKOFF = {"retry.backoff.ms": "100"}
LOADS, NOWHERE, ELSEWHERE = 14, 15, 16


@pytest.fixture
def told():
    story = FetchStory(config=BACKOFF)
    story.start("m1")
    return story


def ask(story, at_ms, answer_ms, code=0, api="FindCoordinator", conn=1, broker=1):
    tells = (part(error_code=code),) if code else ()
    story.ask(at_ms, answer_ms, api=api, conn=conn, broker=broker, tells=tells)


def found(story):
    """Return the code, level and count of each finding."""
    return [(finding.anomaly, finding.level, finding.count) for finding in CHECK.run(story.evidence())]


def hasty(count):
    return [("group-retry-too-soon", "SHOULD", count)] if count else []


@pytest.mark.parametrize(("again_ms", "count"), [(111, 1), (188, 1), (190, 0), (500, 0)])
@pytest.mark.parametrize(
    ("api", "code"),
    [("FindCoordinator", NOWHERE), ("FindCoordinator", LOADS), ("JoinGroup", LOADS), ("OffsetFetch", LOADS)],
)
def test_pause_is_eight_tenths_of_the_backoff(told, api, code, again_ms, count):
    ask(told, 100, 110, code, api)
    ask(told, again_ms, again_ms + 5, api=api)

    assert found(told) == hasty(count)
    assert REQUIREMENT.arises(told.evidence()) == 1


def test_each_repetition_counts(told):
    for at_ms in (100, 110, 120, 130):
        ask(told, at_ms, at_ms + 1, NOWHERE)
    ask(told, 300, 301)

    assert found(told) == hasty(3)


@pytest.mark.parametrize(("api", "code"), [("JoinGroup", ELSEWHERE), ("JoinGroup", 79), ("Heartbeat", LOADS)])
def test_other_answers_ask_for_no_pause(told, api, code):
    ask(told, 100, 110, code, api)
    ask(told, 112, 120, api=api)

    assert found(told) == []
    assert REQUIREMENT.arises(told.evidence()) == 0


@pytest.mark.parametrize(("api", "code", "count"), [("FindCoordinator", NOWHERE, 1), ("JoinGroup", LOADS, 0)])
def test_any_broker_may_be_asked_for_the_coordinator(told, api, code, count):
    ask(told, 100, 110, code, api)
    ask(told, 112, 120, api=api, conn=2, broker=2)

    assert found(told) == hasty(count)


@pytest.mark.parametrize(("again_ms", "count"), [(105, 0), (111, 1)])
def test_a_request_that_was_sent_beside_it(told, again_ms, count):
    ask(told, 100, 110, NOWHERE)
    ask(told, again_ms, 150, conn=2, broker=2)

    assert found(told) == hasty(count)


def test_clients_without_the_setting():
    story = FetchStory(not_set={"retry.backoff.ms": "cannot be set"})
    story.start("m1")
    ask(story, 100, 110, NOWHERE)
    ask(story, 112, 120)

    assert found(story) == []
    assert REQUIREMENT.arises(story.evidence()) == 0
