"""damaged-batch: what was delivered from a damaged batch or passed over, and the errors about it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as changed

from suites.checks.consume import delivery_order, foreign_record, skipped
from suites.checks.consume_wire.damaged_batch import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements
CHECKSUMS = "check.crcs"
#: The batch with the offsets 5 to 9 reaches the member with a wrong checksum at 200 ms.
BATCH = (5, 10)


@pytest.fixture
def story():
    """Return a story of a member that owns partition 0 and has read its first batch of five."""
    told = FetchStory(partitions=1)
    told.write(5, 0)
    told.write(5, 0, 10)
    told.write(5, 0, 20)
    told.start("m1")
    told.assign("m1", 0, at_ms=30)
    told.ask(90, 100, asks=(part(0, 0),), tells=(part(data_bytes=300),))
    take(told, range(5), 110)
    told.ask(190, 200, asks=(part(0, 5),), tells=(part(data_bytes=300, damaged=BATCH),))
    return told


def take(story, offsets, at_ms, value=None):
    """The member gets these records."""
    story.take("m1", 0, *offsets, at_ms=at_ms, value=value)


def codes(story, *checks):
    """Return the codes of what these checks find."""
    evidence = story.evidence()
    return sorted(finding.anomaly for check in checks or (CHECK,) for finding in check.run(evidence))


def test_a_member_that_stays_is_right(story):
    story.raised("m1", 201, error="CorruptRecordException")

    assert codes(story) == []
    assert REQUIREMENT.arises(story.evidence()) == 1


def test_a_member_that_fetches_the_batch_again_is_right(story):
    story.ask(290, 300, asks=(part(0, 5),), tells=(part(data_bytes=300),))
    take(story, range(5, 10), 310)

    assert codes(story) == []


@pytest.mark.parametrize(
    ("damaged", "found"), [((10, 15), []), ((0, 5), []), (BATCH, ["damaged-batch-delivered"])]
)
def test_an_answer_in_which_another_batch_is_damaged_may_have_brought_the_records(story, damaged, found):
    story.ask(290, 300, asks=(part(0, 5),), tells=(part(data_bytes=600, damaged=damaged),))
    take(story, range(5, 10), 310)

    assert sorted(set(codes(story))) == found


def test_it_may_fetch_again_without_naming_the_partition(story):
    """In a session, a partition whose position has not changed is not named."""
    story.ask(290, 300, tells=(part(data_bytes=300),), session_epoch=3)
    take(story, range(5, 10), 310)

    assert codes(story) == []


def test_no_other_answer_can_have_brought_the_records(story):
    take(story, range(5, 10), 210)
    story.ask(290, 300, asks=(part(0, 10),), tells=(part(data_bytes=300),))

    assert codes(story) == ["damaged-batch-delivered"]
    [finding] = CHECK.run(story.evidence())
    assert (finding.count, finding.level) == (5, "SHOULD")


def test_what_was_fetched_from_the_same_offset_before_may_have_brought_them(story):
    """The member asked for it twice, as after a seek."""
    story.ask(140, 150, asks=(part(0, 5),), tells=(part(data_bytes=300),))
    take(story, range(5, 10), 210)

    assert codes(story) == []


def test_where_the_damaged_batch_was_asked_for_has_to_be_known(story):
    story.frames = [
        changed(frame, offsets=()) if frame.t_ns in (story.frames[1].t_ns, story.frames[3].t_ns) else frame
        for frame in story.frames
    ]
    take(story, range(5, 10), 210)

    assert codes(story) == []


def test_records_from_before_the_answer_are_others(story):
    take(story, range(5, 10), 150)

    assert codes(story) == []


def test_a_changed_record_is_of_the_batch_even_if_it_was_fetched_again(story):
    story.ask(290, 300, asks=(part(0, 5),), tells=(part(data_bytes=300),))
    take(story, range(5, 9), 310)
    take(story, [9], 330, value="kt1|x")

    [finding] = CHECK.run(story.evidence())
    assert (finding.anomaly, finding.count) == ("damaged-batch-delivered", 1)
    assert codes(story, foreign_record.CHECK) == ["foreign-record"]


@pytest.mark.parametrize(("offset", "found"), [(9, []), (10, ["foreign-record"])])
def test_a_client_without_checksums_cannot_notice_it_in_the_batch(story, offset, found):
    story.not_set[CHECKSUMS] = "never"
    take(story, range(5, offset), 210)
    take(story, [offset], 230, value="kt1|x")

    assert codes(story) == ["damaged-batch-delivered"]
    assert codes(story, foreign_record.CHECK) == found


def passing(story):
    """The member continues after the batch."""
    story.ask(290, 300, asks=(part(0, 10),), tells=(part(data_bytes=300),))
    take(story, range(10, 15), 310)


ORDER = (delivery_order.CHECK, skipped.CHECK)


def test_a_batch_that_is_dropped_in_silence_is_lost(story):
    passing(story)

    assert codes(story) == ["damaged-batch-dropped"]
    assert codes(story, *ORDER) == ["gap", "skipped"]


@pytest.mark.parametrize("at_ms", [200, 250, 900])
def test_a_batch_is_left_after_an_error(story, at_ms):
    """An adapter may report the error after the turn that came with it."""
    story.raised("m1", at_ms, error="_BAD_MSG")
    passing(story)

    assert codes(story) == ["damaged-batch-left"]
    assert codes(story, *ORDER) == []


@pytest.mark.parametrize(
    ("member", "at_ms", "call"),
    [("m1", 199, "poll"), ("m1", 1_400, "poll"), ("m2", 250, "poll"), ("m1", 250, "commit")],
)
def test_another_error_tells_nothing_about_the_batch(story, member, at_ms, call):
    """It came before the answer, or long after the member had continued, or to another member, or from a commit."""
    story.start("m2")
    story.raised(member, at_ms, call, "_BAD_MSG")
    passing(story)

    assert codes(story, CHECK, *ORDER) == ["damaged-batch-dropped", "gap", "skipped"]


def test_an_error_excuses_no_other_batch(story):
    story.raised("m1", 201, error="_BAD_MSG")
    story.write(5, 0, 400)
    story.ask(290, 300, asks=(part(0, 15),), tells=(part(data_bytes=300),))
    take(story, range(15, 20), 410)

    assert codes(story) == ["damaged-batch-left"]
    assert codes(story, *ORDER) == ["gap", "skipped"]
    assert [finding.count for check in ORDER for finding in check.run(story.evidence())] == [5, 5]


def test_an_answer_that_may_not_have_arrived_is_no_situation(story):
    story.frames[-1] = changed(story.frames[-1], note="after the client had closed")

    assert REQUIREMENT.arises(story.evidence()) == 0
