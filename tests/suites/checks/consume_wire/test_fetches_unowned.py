"""fetches-unowned: which partitions a Fetch asks for, by name or by its session, and from when on it may not."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.fetches_unowned import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told():
    """Return a story in which m1 begins a session with partitions 0 and 1, and gives up 1 at 1,000."""
    story = FetchStory(final_ms=20_000, end_ms=20_000)
    story.start("m1")
    story.assign("m1", 0, 1, at_ms=-500)
    story.ask(100, 110, asks=(part(0, 0), part(1, 0)), session_epoch=0)
    story.ask(500, 900, session_epoch=1)
    story.revoke("m1", 1, at_ms=1_000)
    return story


def found(story):
    """Return the code, level and count of each finding."""
    return [(finding.anomaly, finding.level, finding.count) for finding in CHECK.run(story.evidence())]


def unowned(count):
    return [("unowned-fetch", "SHOULD", count)] if count else []


def test_a_request_forgets_the_partition(told):
    told.ask(1_100, 1_110, asks=(part(1, forgotten=True),), session_epoch=2)
    told.ask(3_000, 3_010, session_epoch=3)

    assert found(told) == []
    assert REQUIREMENT.arises(told.evidence()) == 2


@pytest.mark.parametrize(("at_ms", "count"), [(1_990, 0), (2_010, 1)])
def test_the_session_keeps_the_partition(told, at_ms, count):
    told.ask(at_ms, at_ms + 10, session_epoch=2)

    assert found(told) == unowned(count)


@pytest.mark.parametrize(("at_ms", "count"), [(1_990, 0), (2_010, 1)])
@pytest.mark.parametrize("epoch", [-1, 0])
def test_a_request_names_the_partition(told, epoch, at_ms, count):
    told.ask(at_ms, at_ms + 10, asks=(part(0, 0), part(1, 0)), session_epoch=epoch)

    assert found(told) == unowned(count)


def test_a_full_request_leaves_the_partition_out(told):
    told.ask(3_000, 3_010, asks=(part(0, 0),), session_epoch=0)
    told.ask(4_000, 4_010, session_epoch=1)

    assert found(told) == []


def test_a_partition_that_was_added_later(told):
    told.ask(1_100, 1_110, asks=(part(1, forgotten=True),), session_epoch=2)
    told.ask(3_000, 3_010, asks=(part(1, 5),), session_epoch=3)
    told.ask(4_000, 4_010, session_epoch=4)

    assert found(told) == unowned(2)


def test_a_session_that_has_missed_a_request_is_not_followed(told):
    told.ask(3_000, 3_010, session_epoch=3)
    told.ask(3_100, 3_110, session_epoch=4)
    assert found(told) == []

    told.ask(3_200, 3_210, asks=(part(1, 5),), session_epoch=5)
    assert found(told) == unowned(1)


def test_a_session_with_another_broker(told):
    told.ask(3_000, 3_010, asks=(part(0, 0),), session_epoch=0, conn=2, broker=2)

    assert found(told) == []


@pytest.mark.parametrize(("at_ms", "count"), [(2_990, 1), (3_010, 0)])
def test_the_partition_comes_back(told, at_ms, count):
    told.assign("m1", 1, at_ms=4_000)
    told.ask(at_ms, at_ms + 10, session_epoch=2)

    assert found(told) == unowned(count)


@pytest.mark.parametrize(("at_ms", "count"), [(3_900, 0), (4_100, 1)])
def test_the_time_for_which_the_process_was_frozen(told, at_ms, count):
    told.freeze("m1", 1_500, 3_500)
    told.ask(at_ms, at_ms + 10, session_epoch=2)

    assert found(told) == unowned(count)


def test_a_process_that_closes(told):
    told.close("m1", 2_900)
    told.ask(3_000, 3_010, session_epoch=2)

    assert found(told) == []


def test_partitions_that_the_application_assigns(told):
    told.called("assign", "m1", 2_900)
    told.ask(3_000, 3_010, session_epoch=2)

    assert found(told) == []


def test_a_process_that_never_owned_the_partition(told):
    told.start("m2")
    told.assign("m2", 0, at_ms=-500)
    told.ask(3_000, 3_010, asks=(part(0, 0), part(1, 0)), member="m2", conn=2)

    assert found(told) == []


def test_a_process_that_reports_nothing():
    story = FetchStory(final_ms=20_000, end_ms=20_000)
    story.start("m1")
    story.ask(3_000, 3_010, asks=(part(0, 0),))

    assert found(story) == []
    assert REQUIREMENT.arises(story.evidence()) == 0
