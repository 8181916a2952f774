"""illegal-call-accepted: how calls end that a client should refuse."""

from __future__ import annotations

import pytest

from suites.checks.consume.illegal_call_accepted import CHECK

SECOND, POLL = CHECK.requirements


@pytest.fixture
def told(group):
    """Return a story of one member."""
    story = group()
    story.start("m1")
    return story


def found(story):
    """Return the code of each finding with the requirement that it violates."""
    return {finding.anomaly: finding.requirement for finding in CHECK.run(story.evidence())}


@pytest.mark.parametrize(
    ("call", "code", "id"),
    [
        ("assign", "second-subscription-accepted", "CSM-API-01"),
        ("poll", "poll-without-subscription", "CSM-API-02"),
    ],
)
def test_a_call_that_is_accepted_and_one_that_is_refused(told, call, code, id):
    told.attempted("m1", call, 1_000, error="IllegalStateException")
    assert found(told) == {}

    told.attempted("m1", call, 2_000)
    assert found(told) == {code: id}
    assert {finding.level for finding in CHECK.run(told.evidence())} == {"SHOULD"}
    arises = {each.id: each.arises(told.evidence()) for each in CHECK.requirements}
    assert arises == {SECOND.id: 0, POLL.id: 0} | {id: 2}


def test_each_attempt_is_told_by_its_place(told):
    told.attempted("m1", "assign", 1_000, error="IllegalStateException")
    told.attempted("m1", "poll", 2_000)

    assert found(told) == {"poll-without-subscription": "CSM-API-02"}


@pytest.mark.parametrize(("took_ms", "codes"), [(1_900, set()), (2_100, {"poll-without-subscription"})])
def test_a_poll_that_is_refused_late(told, took_ms, codes):
    told.attempted("m1", "poll", 1_000, error="TimeoutError", took_ms=took_ms)

    assert found(told).keys() == codes


def test_an_attempt_that_never_ended(told):
    told.attempted("m1", "assign", 1_000, ends=False)

    assert found(told) == {}


def test_companions_are_not_judged(told):
    told.start("m2", companion="java@4.3.1")
    told.attempted("m2", "assign", 1_000)

    assert found(told) == {}
