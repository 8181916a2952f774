"""Recorded false accusations, reduced to the relevant rows, and the cases just beyond each excuse."""

from __future__ import annotations

import pytest

from suites.checks.history import duplicate, reordered

OUT_OF_TURN = 99
NOT_LEADER = 6


def codes(told):
    evidence = told.evidence()
    return [finding.anomaly for check in (duplicate, reordered) for finding in check.CHECK.run(evidence)]


def trickled(told, *, slow=True, left=True, called_ms=5_000):
    """A request trickles on connection 1 after its acknowledged retry on connection 2."""
    if slow:
        told.fault("bandwidth", 1_000, 13_000, upstream_bytes_per_s=4_000)
    told.open(1, at_ms=-200)
    told.call(0, at_ms=called_ms)
    told.open(2, at_ms=8_000)
    told.result(0, at_ms=10_050, offset=told.deliver([0], 0, at_ms=10_040, conn=2))
    told.request([0], 0, at_ms=11_200)
    told.answer(0, told.append([0], 0), at_ms=11_210)
    told.close(1, at_ms=11_201 if left else 40_000)
    return told


def test_bytes_of_an_abandoned_connection_are_an_earlier_attempt(story):
    assert codes(trickled(story())) == []


@pytest.mark.parametrize("beyond", [{"slow": False}, {"left": False, "called_ms": 9_900}])
def test_without_held_bytes_or_a_disconnect_there_is_no_excuse(story, beyond):
    assert codes(trickled(story(), **beyond)) == ["unexplained-duplicate"]


def out_of_turn(told, *, is_broken=True):
    """Record 1 is stored by its retry before the first attempt of record 0, which the broker had not read yet."""
    told.call(0, 1)
    told.request([0], 0, at_ms=10)
    told.request([1], 0, at_ms=20)
    if is_broken:
        told.correlation, kept = OUT_OF_TURN, told.correlation
        told.answer(0, -1, at_ms=30)
        told.correlation = kept
        told.close(1, at_ms=31)
    told.result(1, at_ms=62, offset=told.deliver([1], 0, at_ms=60, conn=2))
    told.append([0], 0)
    told.result(0, at_ms=72, offset=told.deliver([0], 0, at_ms=70, conn=2))
    return told


def test_wrong_response_justifies_resending_all(story):
    assert codes(out_of_turn(story())) == []


def test_correct_response_does_not_justify_resending(story):
    assert "unexplained-reorder" in codes(out_of_turn(story(), is_broken=False))


@pytest.mark.parametrize(
    ("called_ms", "found"), [(500, "avoidable-duplicate"), (2_900, "unexplained-duplicate")]
)
def test_batch_may_be_resent_after_the_previous_one_failed(story, called_ms, found):
    """Batch 0 was dropped before the witness. Batch 1 is sent, stored and answered, and then sent again."""
    told = story()
    told.fault("partition", 400, 2_000)
    told.call(0, at_ms=450)
    told.call(1, at_ms=called_ms)
    told.open(2, at_ms=2_010)
    told.deliver([1], 0, at_ms=3_020, conn=2)
    for n in (0, 1):
        told.result(n, at_ms=3_204, offset=told.deliver([n], 0, at_ms=3_200 + n, conn=2))
    assert found in codes(told)


@pytest.mark.parametrize(
    ("error_code", "found"), [(NOT_LEADER, "avoidable-duplicate"), (0, "unexplained-duplicate")]
)
@pytest.mark.parametrize("is_told", [False, True])
def test_request_with_one_failed_partition_may_be_resent_whole(story, error_code, found, is_told):
    told = story()
    told.call(0, 1)
    base = told.append([1], 1)
    for at_ms in (10, 2_000):
        told.request([0], 0, at_ms=at_ms)
        told.request([1], 1, at_ms=at_ms)
        told.together(2)
        told.answer(0, -1 if error_code else 0, at_ms=at_ms + 1, error_code=error_code)
        told.answer(1, base, at_ms=at_ms + 1)
        told.together(2)
        if at_ms == 10:
            base = told.append([1], 1)
    told.result(1, at_ms=12 if is_told else 2_002, partition=1)
    told.result(0, at_ms=2_002, outcome="info", error="NOT_LEADER")
    assert codes(told) == [found]


@pytest.mark.parametrize(("ahead_ms", "found"), [(14, "unexplained-duplicate"), (11, "avoidable-duplicate")])
def test_request_was_passed_on_before_the_next_of_its_connection(story, ahead_ms, found):
    """A copy 100 ms after its acknowledgement at 12 ms, while a connection fails: too close to order."""
    told = story()
    told.fault("disconnect", 5, 8)
    told.call(0)
    told.close(9, at_ms=6)
    told.result(0, at_ms=12, offset=told.deliver([0], 0, at_ms=10))
    told.call(1, at_ms=ahead_ms)
    told.result(1, at_ms=25, partition=1, offset=told.deliver([1], 1, at_ms=20))
    told.deliver([0], 0, at_ms=112)
    assert codes(told) == [found]
