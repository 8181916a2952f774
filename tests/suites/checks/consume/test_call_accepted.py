"""call-accepted: calls about partitions that a member does not own."""

from __future__ import annotations

import pytest

from suites.checks.consume.call_accepted import CHECK

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told(group):
    """Return a story in which m1 owns partition 0 from 0 to 10,000."""
    story = group()
    story.start("m1")
    story.assign("m1", 0, at_ms=0)
    story.revoke("m1", 0, at_ms=10_000)
    return story


def found(story):
    """Return the number of calls that the check accuses, and how often its situation arose."""
    evidence = story.evidence()
    return sum(finding.count for finding in CHECK.run(evidence)), REQUIREMENT.arises(evidence)


@pytest.mark.parametrize("op", ["pause", "resume", "seek"])
@pytest.mark.parametrize(("error", "count"), [(None, 1), ("IllegalStateException", 0)])
def test_a_call_about_a_partition_of_nobody(told, op, error, count):
    told.called(op, "m1", 5_000, (1, 0), error=error)

    assert found(told) == (count, 1)


@pytest.mark.parametrize(("at_ms", "count"), [(5_000, 0), (10_900, 0), (11_100, 1), (-1_100, 1), (-900, 0)])
def test_a_call_about_a_partition_that_was_its_own(told, at_ms, count):
    told.called("pause", "m1", at_ms, (0, -1))

    assert found(told) == (count, count)


def test_each_call_is_told_by_its_place(told):
    told.called("pause", "m1", 5_000, (0, -1))
    told.called("pause", "m1", 5_001, (1, -1), error="IllegalStateException")
    told.called("resume", "m1", 6_000, (0, -1))
    told.called("resume", "m1", 6_001, (1, -1))
    [finding] = CHECK.run(told.evidence())

    assert (finding.count, finding.params["ops"], finding.level) == (1, ("resume",), "SHOULD")
    assert finding.samples[0]["partition"] == 1


def test_a_member_without_a_listener_is_not_judged(told):
    told.start("m2")
    told.called("pause", "m2", 5_000, (1, -1))

    assert found(told) == (0, 0)


def test_companions_are_not_judged(told):
    told.start("m2", companion="java@4.3.1")
    told.assign("m2", 1, at_ms=0)
    told.called("pause", "m2", 5_000, (0, -1))

    assert found(told) == (0, 0)
