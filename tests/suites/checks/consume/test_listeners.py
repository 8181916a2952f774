"""Exceptions of the application's listener that its application does not get."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.checks.consume import listener_error_hidden
from tests.suites.story import ns


def found(story):
    return [each.anomaly for each in listener_error_hidden.run(story.evidence())]


def arises(story):
    [requirement] = listener_error_hidden.CHECK.requirements
    return requirement.arises(story.evidence())


def test_an_exception_that_poll_ends_with_is_as_it_should_be(throwing):
    assert (found(throwing()), arises(throwing())) == ([], 1)


@pytest.mark.parametrize("told_ms", [None, 1_400, 4_600])
def test_an_exception_that_does_not_come_or_comes_too_late_is_found(throwing, told_ms):
    assert found(throwing(told_ms=told_ms)) == ["listener-error-hidden"]


@pytest.mark.parametrize(("member", "call"), [("m1", "commit"), ("m2", "poll")])
def test_an_exception_of_another_call_or_member_is_not_the_listeners(throwing, member, call):
    told = throwing(told_ms=None)
    told.fails(member, call, 1_510)
    assert found(told) == ["listener-error-hidden"]


def test_a_listener_that_is_not_called_meanwhile_throws_nothing(throwing):
    told = throwing(told_ms=None)
    told.done("throw", "m1", 1_000)
    assert (found(told), arises(told)) == ([], 0)


def test_a_member_that_ends_soon_is_judged_only_if_it_was_told(group):
    told = group()
    told.start("m1")
    told.assign("m1", 0, 1, at_ms=-500)
    told.fault("listener_throws", 600, 5_000, member=1, callback=1)
    told.done("throw", "m1", 700)
    told.revoke("m1", 0, 1, at_ms=1_500)
    told.kill("m1", 3_000)
    assert (found(told), arises(told)) == ([], 0)
    told.fails("m1", "poll", 1_510)
    assert arises(told) == 1


def test_a_process_that_stalls_cannot_be_judged(throwing):
    told = throwing(told_ms=None)
    told.silent.add("m1")
    told.events += [each for each in told._beats("m1") if not ns(1_100) < each.mono_ns < ns(4_900)]
    with pytest.raises(Inconclusive):
        found(told)
