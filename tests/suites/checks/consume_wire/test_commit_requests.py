"""What members ask when they commit, in stories of frames."""

from __future__ import annotations

import pytest

from suites.checks.consume_wire import commit_identity
from tests.suites.checks.consume_wire.wire_story import WireStory


def found(module, told):
    """Return code and count of each finding."""
    return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]


def arises(module, told, id):
    """Return how often the situation of a behaviour arose."""
    return next(each.arises(told.evidence()) for each in module.CHECK.requirements if each.id == id)


@pytest.fixture
def wire():
    """Return the story of one member that commits what it reads."""
    told = WireStory()
    told.start("m1")
    return told


@pytest.mark.parametrize(
    ("generation", "member_id", "code"),
    [(0, "", ["commit-of-a-generation"]), (-1, "m", ["commit-of-a-member"]), (-1, "", [])],
)
def test_consumer_without_subscription_names_no_member(wire, generation, member_id, code):
    wire.call("assign", "m1", 0)
    wire.commit_request("m1", 100, {0: 3}, epoch=generation, member_id=member_id)
    assert found(commit_identity, wire) == [(each, 1) for each in code]
    assert arises(commit_identity, wire, "CSM-OFC-05") == 1


def test_member_of_a_group_names_itself(wire):
    wire.call("subscribe", "m1", 0)
    wire.commit_request("m1", 100, {0: 3}, epoch=4, member_id="m")
    assert found(commit_identity, wire) == []
    assert arises(commit_identity, wire, "CSM-OFC-05") == 0


def test_consumer_that_subscribed_before_is_not_judged(wire):
    wire.call("subscribe", "m1", 0)
    wire.call("assign", "m1", 50)
    wire.commit_request("m1", 100, {0: 3}, epoch=4, member_id="m")
    assert found(commit_identity, wire) == []
