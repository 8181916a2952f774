"""position-moved: what may move the position of a partition, and what may not."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.position_moved import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements
NOT_LEADER, OUT_OF_RANGE, STALE_SESSION = 6, 1, 71


def reading(**config):
    """Return a story in which m1 has read up to offset 20, and its application has the records up to 15."""
    story = FetchStory(config=config)
    story.write(30, 0)
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.ask(-400, -399, api="OffsetFetch", asks=(part(),), tells=(part(0, 10),))
    story.ask(0, 5, asks=(part(0, 10),), tells=(part(0, data_bytes=100),))
    story.take("m1", 0, *range(10, 15), at_ms=10)
    return story


def failed(story, code=NOT_LEADER, at_ms=2_000):
    """The Fetch from offset 20 has an error."""
    story.ask(at_ms, at_ms + 5, asks=(part(0, 20),), tells=(part(0, error_code=code, data_bytes=0),))


def found(story):
    """Return the codes of the findings, and how often the situation arose."""
    evidence = story.evidence()
    return [finding.anomaly for finding in CHECK.run(evidence)], REQUIREMENT.arises(evidence)


@pytest.mark.parametrize(
    ("offset", "codes"),
    [
        pytest.param(20, [], id="the same"),
        pytest.param(15, [], id="where the application is"),
        pytest.param(17, [], id="between"),
        pytest.param(14, ["position-moved"], id="before the application"),
        pytest.param(0, ["position-moved"], id="the beginning"),
        pytest.param(25, ["position-moved"], id="behind"),
    ],
)
def test_the_offset_after_an_error(offset, codes):
    story = reading()
    failed(story)
    story.ask(2_100, 2_105, asks=(part(0, offset),))

    assert found(story) == (codes, 1)


def test_errors_of_whole_answers_count():
    story = reading()
    story.ask(2_000, 2_005, asks=(part(0, 20),), session_error=STALE_SESSION)
    story.ask(2_100, 2_105, asks=(part(0, 0),))

    assert found(story) == (["position-moved"], 1)


def test_a_session_goes_on_at_the_same_offset_without_naming_it():
    story = reading()
    failed(story)
    story.ask(2_100, 2_105, session_epoch=2, tells=(part(0, error_code=NOT_LEADER, data_bytes=0),))
    story.ask(2_200, 2_205, session_epoch=3, tells=(part(0, data_bytes=100),))
    story.ask(2_300, 2_305, session_epoch=4, asks=(part(0, 25),))

    assert found(story) == ([], 2)


def test_out_of_range_moves_it():
    story = reading()
    failed(story, OUT_OF_RANGE)
    story.ask(2_100, 2_105, asks=(part(0, 0),))

    assert found(story) == ([], 1)


@pytest.mark.parametrize(("offset", "codes"), [(20, []), (0, ["reset-against-policy"])])
def test_out_of_range_moves_nothing_under_policy_none(offset, codes):
    story = reading(**{"auto.offset.reset": "none"})
    failed(story, OUT_OF_RANGE)
    story.ask(2_100, 2_105, asks=(part(0, offset),))

    assert found(story) == (codes, 1)


def test_a_policy_that_is_not_applied_says_nothing():
    story = reading(**{"auto.offset.reset": "none"})
    story.not_set["auto.offset.reset"] = "no such setting"
    failed(story, OUT_OF_RANGE)
    story.ask(2_100, 2_105, asks=(part(0, 0),))

    assert found(story) == ([], 1)


def test_records_in_another_answer_move_it():
    story = reading()
    failed(story)
    story.ask(2_010, 2_020, asks=(), tells=(part(0, data_bytes=100),))
    story.ask(2_100, 2_105, asks=(part(0, 25),))

    assert found(story) == ([], 0)


@pytest.mark.parametrize(("at_ms", "codes"), [(1_000, ["position-moved"]), (1_900, []), (2_050, [])])
def test_a_seek_moves_it(at_ms, codes):
    """One that came long before had been carried out."""
    story = reading()
    story.called("seek", "m1", at_ms)
    failed(story)
    story.ask(2_100, 2_105, asks=(part(0, 0),))

    assert found(story) == (codes, 1)


def test_a_new_assignment_moves_it():
    story = reading()
    failed(story)
    story.revoke("m1", 0, at_ms=2_020)
    story.assign("m1", 0, at_ms=2_050)
    story.ask(2_100, 2_105, asks=(part(0, 12),))

    assert found(story) == ([], 1)


@pytest.mark.parametrize("api", ["OffsetFetch", "OffsetForLeaderEpoch"])
def test_a_broker_that_tells_an_offset_moves_it(api):
    story = reading()
    failed(story)
    story.ask(2_020, 2_030, api=api, asks=(part(),), tells=(part(0, 12),))
    story.ask(2_100, 2_105, asks=(part(0, 12),))

    assert found(story) == ([], 1)


def test_a_log_that_differs_moves_it():
    story = reading()
    story.ask(2_000, 2_005, asks=(part(0, 20),), tells=(part(0, 12, error_code=0, data_bytes=0),))
    failed(story, at_ms=2_010)
    story.ask(2_100, 2_105, asks=(part(0, 12),))

    assert found(story) == ([], 1)


def test_another_member_has_its_own_position():
    story = reading()
    failed(story)
    story.start("m2")
    story.ask(2_100, 2_105, asks=(part(0, 0),), member="m2", conn=2)

    assert found(story) == ([], 0)


def beginning(stored, *lookups, op="subscribe"):
    """Return a story in which m1 asks for offsets, with these answers, and then fetches."""
    story = FetchStory()
    story.start("m1")
    story.called(op, "m1", -900)
    story.ask(0, 1, api="OffsetFetch", asks=(part(),), tells=(part(0, stored),))
    for turn, told in enumerate(lookups):
        story.ask(10 + turn, 10.5 + turn, api="ListOffsets", asks=(part(),), tells=(told,))
    story.ask(100, 105, asks=(part(0, 0),))
    return story


NO_OFFSET, AN_OFFSET = part(0, -1, error_code=NOT_LEADER), part(0, 0)
OF_FIRST_VERSION = part(0)


def test_no_offset_was_told():
    assert found(beginning(-1, NO_OFFSET)) == (["position-invented"], 1)


@pytest.mark.parametrize("told", [AN_OFFSET, OF_FIRST_VERSION])
def test_an_offset_was_told_later(told):
    assert found(beginning(-1, NO_OFFSET, told)) == ([], 1)


def test_the_group_has_an_offset():
    assert found(beginning(0, NO_OFFSET)) == ([], 1)


def test_the_application_names_an_offset():
    assert found(beginning(-1, NO_OFFSET, op="assign")) == ([], 1)
