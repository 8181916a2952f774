"""paused-partition: for how long a pause lasts, and what a client does with the partition meanwhile and after it."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.paused_partition import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told():
    """Return a story in which m1 reads partition 0, pauses it from 1,000 to 4,000, and then reads on."""
    story = FetchStory()
    story.write(30, 0)
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.ask(100, 110, asks=(part(0, 0),), tells=(part(0, data_bytes=9),))
    story.take("m1", 0, 0, 1, 2, at_ms=200)
    story.called("pause", "m1", 1_000, (0, -1))
    story.called("resume", "m1", 4_000, (0, -1))
    story.ask(4_100, 4_110, asks=(part(0, 10),), tells=(part(0, data_bytes=9),))
    story.take("m1", 0, *range(3, 10), at_ms=4_200)
    return story


def found(story):
    """Return the code and count of each finding."""
    return {finding.anomaly: finding.count for finding in CHECK.run(story.evidence())}


def test_nothing_comes_until_it_is_resumed(told):
    assert found(told) == {}
    assert REQUIREMENT.arises(told.evidence()) == 1


@pytest.mark.parametrize(("at_ms", "count"), [(999, 0), (1_001, 1), (3_999, 1), (4_001, 0)])
def test_a_record_that_was_taken_meanwhile(told, at_ms, count):
    told.take("m1", 0, 3, at_ms=at_ms)

    assert found(told).get("paused-record", 0) == count


def test_a_record_of_another_partition(told):
    told.take("m1", 1, 0, at_ms=2_000, value="")

    assert found(told) == {}


@pytest.mark.parametrize(("at_ms", "count"), [(1_400, 0), (1_600, 1), (3_900, 1)])
def test_a_fetch_meanwhile(told, at_ms, count):
    told.ask(at_ms, at_ms + 5, asks=(part(0, 10),))

    assert found(told).get("paused-fetch", 0) == count


def test_a_fetch_that_does_not_name_it_but_brings_its_records(told):
    told.ask(2_000, 2_005, session_epoch=2, tells=(part(0, data_bytes=9, error_code=0),))

    assert found(told) == {"paused-fetch": 1}


def test_a_fetch_that_leaves_it_out(told):
    told.ask(2_000, 2_005, session_epoch=2, asks=(part(0, forgotten=True), part(1, 7)))

    assert found(told) == {}


@pytest.mark.parametrize(("offset", "codes"), [(0, {"buffer-dropped": 1}), (1, {}), (10, {})])
def test_where_it_goes_on(offset, codes):
    """At 0 it had been fetched before, and the answer had been read."""
    story = FetchStory()
    story.write(30, 0)
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.ask(100, 110, asks=(part(0, 0),), tells=(part(0, data_bytes=9),))
    story.called("pause", "m1", 1_000, (0, -1))
    story.called("resume", "m1", 4_000, (0, -1))
    story.ask(4_100, 4_110, asks=(part(0, offset),))

    assert found(story) == codes


def test_the_application_may_go_back_after_a_failed_commit():
    story = FetchStory()
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.ask(100, 110, asks=(part(0, 0),), tells=(part(0, data_bytes=9),))
    story.commit("m1", 0, 3, at_ms=500, success=False)
    story.called("pause", "m1", 1_000, (0, -1))
    story.called("resume", "m1", 4_000, (0, -1))
    story.ask(4_100, 4_110, asks=(part(0, 0),))

    assert found(story) == {}


@pytest.mark.parametrize("what", ["revoked", "joins", "sought", "closes"])
def test_what_ends_a_pause(told, what):
    match what:
        case "revoked":
            told.revoke("m1", 0, at_ms=1_500)
        case "joins":
            told.ask(1_500, 1_510, api="JoinGroup", conn=5)
        case "sought":
            told.called("seek", "m1", 1_500, (0, 3))
        case "closes":
            told.close("m1", 1_500)
    told.take("m1", 0, 3, at_ms=2_000)

    assert "paused-record" not in found(told)


@pytest.mark.parametrize("error", ["IllegalStateException"])
def test_a_pause_that_was_refused(error):
    story = FetchStory()
    story.write(3, 0)
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.called("pause", "m1", 1_000, (0, -1), error=error)
    story.take("m1", 0, 0, at_ms=2_000)

    assert found(story) == {}
    assert REQUIREMENT.arises(story.evidence()) == 0
