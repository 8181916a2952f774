"""Out-of-order responses, and connections closed over another request: how they justify a retry."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as restruct

from harness.model.evidence import passed_and_stopped
from harness.model.rows import Disposition
from suites.analysis.response_order import out_of_turn_ns
from suites.checks.history.duplicate import CHECK

UNEXPLAINED = "it was sent again although nothing was wrong with the earlier request"


def behind(told, *, tampered):
    """Record 0 is sent at 10 ms and record 1 at 1,000 ms, with a response. The client disconnects and resends both.

    ``tampered(request, response)`` changes the first request and its response. No fault is in effect then.
    """
    told.call(0, 1)
    told.request([0], 0, at_ms=10)
    request = told.frames.pop()
    base = told.append([0], 0)
    told.answer(0, base, at_ms=11)
    response = told.frames.pop()
    told.frames += tampered(request, response)
    told.request([1], 0, at_ms=1_000)
    told.answer(0, told.append([1], 0), at_ms=1_001)
    told.close(1, at_ms=1_003)
    for n in (0, 1):
        told.result(n, at_ms=1_100 + n, offset=told.deliver([n], 0, at_ms=1_050 + n, conn=2))
    evidence = told.evidence()
    frames, stopped = passed_and_stopped(evidence.frames)
    return type(evidence)(
        evidence.record, evidence.history, frames, evidence.faults, evidence.log, (), stopped
    )


def whys(evidence):
    return sorted(finding.samples[0]["why"] for finding in CHECK.run(evidence))


def test_response_after_a_stopped_one_is_out_of_order(story):
    stopped = behind(
        story(), tampered=lambda request, _: [restruct(request, fault="f", disposition=Disposition.BLOCKED)]
    )
    assert out_of_turn_ns(stopped) and UNEXPLAINED not in whys(stopped)


def test_response_after_a_duplicated_one_is_out_of_order(story):
    doubled = behind(
        story(),
        tampered=lambda request, answer: [
            request,
            restruct(answer, fault="f", disposition=Disposition.ANNOTATED),
        ],
    )
    assert len(out_of_turn_ns(doubled)) == 1


def test_response_with_the_wrong_id_is_out_of_order(story):
    strange = behind(
        story(),
        tampered=lambda request, answer: [
            request,
            restruct(answer, correlation_id=99, fault="f", disposition=Disposition.CHANGED),
        ],
    )
    assert out_of_turn_ns(strange) == {1: strange.frames[1].t_ns}


def test_responses_in_order_justify_no_retry(story):
    honest = behind(story(), tampered=lambda request, answer: [request, answer])
    assert out_of_turn_ns(honest) == {}
    assert whys(honest) == [UNEXPLAINED]


@pytest.mark.parametrize(("asked_ms", "why"), [(2_000, set()), (4_000, {UNEXPLAINED})])
def test_client_may_disconnect_over_another_request(story, asked_ms, why):
    """Request 0 has waited for three seconds at 5,000 ms, or for one. Both responses arrive after the disconnect."""
    told = story()
    told.call(0, 1)
    told.request([0], 0, at_ms=asked_ms)
    told.answer(0, told.append([0], 0), at_ms=5_000.5)
    told.request([1], 1, at_ms=4_900)
    told.close(1, at_ms=5_000)
    told.answer(1, told.append([1], 1), at_ms=5_001)
    told.result(1, at_ms=5_200, partition=1, offset=told.deliver([1], 1, at_ms=5_100, conn=2))
    told.result(0, at_ms=5_200, offset=told.deliver([0], 0, at_ms=5_101, conn=2))
    assert set(whys(told.evidence())) == why
