"""fetches-at-a-time: what counts as in flight to a broker, and what a client may have given up."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.fetches_at_a_time import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told():
    """Return a story of one member."""
    story = FetchStory()
    story.start("m1")
    return story


def found(story):
    """Return the number of requests that the check accuses, and how often its situation arose."""
    evidence = story.evidence()
    return sum(finding.count for finding in CHECK.run(evidence)), REQUIREMENT.arises(evidence)


def test_one_after_the_other(told):
    for at_ms in (0, 250, 500):
        told.ask(at_ms, at_ms + 249)

    assert found(told) == (0, 2)


def test_a_second_one_before_the_answer(told):
    told.ask(0, 250)
    told.ask(100, 260)

    assert found(told) == (1, 1)


def test_most_at_a_time_is_told(told):
    for at_ms in (0, 10, 20):
        told.ask(at_ms, at_ms + 250)
    [finding] = CHECK.run(told.evidence())

    assert (finding.count, finding.params["most"], finding.level) == (2, 3, "SHOULD")


def test_another_broker_is_another_matter(told):
    told.ask(0, 250)
    told.ask(100, 260, conn=2, broker=2)

    assert found(told) == (0, 0)


def test_another_member_is_another_matter(told):
    told.start("m2")
    told.ask(0, 250)
    told.ask(100, 260, conn=2, member="m2")

    assert found(told) == (0, 0)


def test_another_connection_while_the_first_stays_open(told):
    told.ask(0, 250)
    told.ask(100, 260, conn=2)

    assert found(told) == (1, 1)


@pytest.mark.parametrize(("closed_ms", "accused"), [(50, 0), (300, 0), (900, 1)])
def test_another_connection_after_the_first_may_have_ended(told, closed_ms, accused):
    """A client closes before the witness sees it."""
    told.ask(0)
    told.hang_up(1, closed_ms)
    told.ask(100, 260, conn=2)

    assert found(told) == (accused, 1)


@pytest.mark.parametrize(("at_ms", "accused"), [(2_900, 1), (3_001, 0)])
def test_a_request_is_given_up_at_its_timeout(told, at_ms, accused):
    told.ask(0)
    told.ask(at_ms, at_ms + 10)

    assert found(told) == (accused, 1)


@pytest.mark.parametrize("api", ["SyncGroup", "OffsetFetch"])
@pytest.mark.parametrize(("at_ms", "accused"), [(-50, 1), (50, 0)])
def test_what_was_fetched_for_another_assignment_may_be_given_up(told, api, at_ms, accused):
    told.ask(0, 250)
    told.ask(at_ms, at_ms + 5, api=api, conn=2)
    told.ask(100, 260)

    assert found(told) == (accused, 1)


def test_answers_out_of_turn_confuse(told):
    told.ask(0, 10, is_doubled=True)
    told.ask(20, 30)
    told.ask(40, 260)
    told.ask(50, 270)

    assert found(told) == (0, 3)


def test_a_client_that_closes_ends_its_sessions(told):
    told.ask(0, 250)
    told.close("m1", 100)
    told.ask(110, 260)

    assert found(told) == (0, 0)
