"""truncation-unnoticed: how a member goes on at a new leader, and behind records that the log has lost."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire.truncation_unnoticed import CHECK
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part

[REQUIREMENT] = CHECK.requirements
FOLLOWER = {"conn": 2, "broker": 2}


def truncated(**config):
    """Return a story in which the log loses its records 3 and 4 after m1 has read them, and has others there."""
    story = FetchStory(partitions=1, config=config)
    story.start("m1")
    story.assign("m1", 0, at_ms=-500)
    story.write(3, 0)
    story.take("m1", 0, 0, 1, 2, at_ms=100)
    story.ask(200, 210, asks=(part(0, 3, current_leader_epoch=0),), tells=(part(0, data_bytes=99),))
    for offset, value in enumerate(story.lose(2, 0, 1_100), start=3):
        story.take("m1", 0, offset, at_ms=1_000 + 100 * offset, value=value)
    story.fault("unclean_election", 1_000, 3_000)
    story.write(6, 0, at_ms=3_000)
    return story


def go_on(story, offset, at_ms=4_000, epoch=1, data_bytes=99):
    """The member fetches from the new leader."""
    asked = part(0, offset, current_leader_epoch=epoch)
    story.ask(
        at_ms, at_ms + 5, asks=(asked,), tells=(part(0, data_bytes=data_bytes, error_code=0),), **FOLLOWER
    )


def found(story):
    """Return the codes of the findings."""
    return [finding.anomaly for finding in CHECK.run(story.evidence())]


@pytest.mark.parametrize(
    ("offset", "codes"), [(0, []), (3, []), (4, ["truncation-unnoticed"]), (5, ["truncation-unnoticed"])]
)
def test_where_it_goes_on(offset, codes):
    story = truncated()
    go_on(story, offset)

    assert found(story) == codes
    assert REQUIREMENT.arises(story.evidence()) == 2


def test_it_went_back_before_the_fault_had_ended():
    story = truncated()
    go_on(story, 3, at_ms=2_900)
    go_on(story, 9, at_ms=4_000)

    assert found(story) == []


def test_a_fetch_that_brings_nothing_is_no_reading():
    story = truncated()
    go_on(story, 5, data_bytes=0)
    go_on(story, 3, at_ms=4_100)

    assert found(story) == []


def test_a_new_assignment_begins_at_the_stored_offset():
    story = truncated()
    story.revoke("m1", 0, at_ms=3_100)
    story.assign("m1", 0, at_ms=3_200)
    go_on(story, 5)

    assert found(story) == []


def test_the_application_sets_the_position():
    story = truncated()
    story.called("seek", "m1", 3_200)
    go_on(story, 5)

    assert found(story) == []


def test_a_policy_other_than_earliest_may_skip():
    story = truncated(**{"auto.offset.reset": "latest"})
    go_on(story, 5)

    assert found(story) == []


def test_a_member_that_was_not_given_what_was_lost():
    story = truncated()
    story.start("m2")
    story.ask(4_000, 4_005, member="m2", asks=(part(0, 9),), tells=(part(0, data_bytes=9),), **FOLLOWER)

    assert found(story) == []


def moved(epoch, *, asks_on=None):
    """Return a story in which m1 follows a new leader, and asks a broker for the end of an epoch before."""
    story = FetchStory()
    story.start("m1")
    story.ask(0, 5, asks=(part(0, 3),))
    if asks_on is not None:
        story.ask(50, 55, api="OffsetForLeaderEpoch", asks=(part(),), conn=10 + asks_on, broker=asks_on)
    go_on(story, 3, at_ms=100, epoch=epoch)
    return story


@pytest.mark.parametrize(
    ("epoch", "asks_on", "codes"),
    [
        (1, None, []),
        (0, None, []),
        (-1, None, ["leader-epoch-not-named"]),
        (None, None, ["leader-epoch-not-named"]),
        (-1, 2, []),
        (-1, 1, ["leader-epoch-not-named"]),
    ],
)
def test_what_tells_the_new_leader_where_the_member_stands(epoch, asks_on, codes):
    story = moved(epoch, asks_on=asks_on)

    assert found(story) == codes
    assert REQUIREMENT.arises(story.evidence()) == 1
    assert {finding.level for finding in CHECK.run(story.evidence())} <= {"SHOULD"}
