"""wakeup-unheard: by when a wakeup has to interrupt a call, and how often."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume.wakeup_unheard import CHECK
from tests.suites.story import stalled

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told(group):
    """Return a story of one member that lives until 60,000."""
    story = group()
    story.start("m1")
    return story


def found(story):
    """Return the code and count of each finding."""
    return {finding.anomaly: finding.count for finding in CHECK.run(story.evidence())}


@pytest.mark.parametrize(("at_ms", "codes"), [(1_001, {}), (1_900, {}), (2_100, {"wakeup-unheard": 1})])
def test_a_wakeup_is_heard_in_time(told, at_ms, codes):
    told.called("wakeup", "m1", 1_000)
    told.raised("m1", at_ms)

    assert found(told) == codes
    assert REQUIREMENT.arises(told.evidence()) == 1


def test_a_wakeup_that_nothing_hears(told):
    told.called("wakeup", "m1", 1_000)

    assert found(told) == {"wakeup-unheard": 1}


def test_several_wakeups_are_one(told):
    for _ in range(3):
        told.called("wakeup", "m1", 1_000)
    told.raised("m1", 1_050)

    assert found(told) == {}


def test_the_first_of_several_is_not_heard_by_the_last(told):
    told.raised("m1", 900)
    told.called("wakeup", "m1", 1_000)

    assert found(told) == {"wakeup-unheard": 1}


@pytest.mark.parametrize(
    ("times", "codes"), [(1, {}), (2, {"wakeup-repeated": 1}), (3, {"wakeup-repeated": 2})]
)
def test_one_wakeup_is_heard_once(told, times, codes):
    told.called("wakeup", "m1", 1_000)
    for turn in range(times):
        told.raised("m1", 1_050 + 100 * turn)

    assert found(told) == codes


def test_a_wakeup_in_a_commit(told):
    told.called("wakeup", "m1", 1_000)
    told.raised("m1", 1_050, call="commit")

    assert found(told) == {}


def test_commits_may_fail_for_other_reasons(told):
    told.called("wakeup", "m1", 1_000)
    for turn in range(3):
        told.raised("m1", 1_010 + turn, call="commit", error="RebalanceInProgress")
    told.raised("m1", 1_050)

    assert found(told) == {}


@pytest.mark.parametrize("what", ["turn", "commit", "frozen"])
@pytest.mark.parametrize(("at_ms", "codes"), [(4_900, {}), (5_200, {"wakeup-unheard": 1})])
def test_a_wakeup_is_heard_after_what_the_application_does(told, what, at_ms, codes):
    told.write(1, 0)
    match what:
        case "turn":
            told.take("m1", 0, 0, at_ms=900, took_ms=3_100)
        case "commit":
            told.commit("m1", 0, 1, at_ms=900, took_ms=3_100)
        case "frozen":
            told.freeze("m1", 900, 4_000)
    told.called("wakeup", "m1", 1_000)
    told.raised("m1", at_ms)

    assert found(told) == codes


def test_errors_that_came_before_are_of_something_else(told):
    told.raised("m1", 500, error="DisconnectException")
    told.called("wakeup", "m1", 1_000)
    told.raised("m1", 1_010, error="DisconnectException")

    assert found(told) == {"wakeup-unheard": 1}


def test_a_wakeup_that_the_client_cannot_do(told):
    told.called("wakeup", "m1", 1_000, error="UnsupportedOperation")

    assert found(told) == {}
    assert REQUIREMENT.arises(told.evidence()) == 0


def test_a_member_that_closes_meanwhile(told):
    told.called("wakeup", "m1", 1_000)
    told.close("m1", 1_500)

    assert found(told) == {}


def test_a_harness_that_stalls_meanwhile(told):
    told.called("wakeup", "m1", 10_000)

    with pytest.raises(Inconclusive):
        CHECK.run(stalled(told.evidence(), 9_900, 12_000))
