"""Acknowledgements must not precede the broker's response for at least one copy."""

from __future__ import annotations

import pytest

from harness.model.rows import Frame, FrameKind
from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive, Unsupported
from suites.checks.history import early_ack
from testkit.codes import raises_code
from tests.suites.story import ns

NOT_ENOUGH_REPLICAS = 19


def acked(story, at_ms, **more):
    told = story(**more)
    told.call(0)
    offset = told.deliver([0], partition=0, at_ms=100)
    told.result(0, at_ms=at_ms, offset=offset)
    return told


def test_acknowledgement_after_the_response_passes(story):
    assert early_ack.CHECK.run(acked(story, 102).evidence()) == []


def test_acknowledgement_before_the_response_is_early_even_if_stored(story):
    (finding,) = early_ack.CHECK.run(acked(story, 50).evidence())
    assert finding.message == "1 record acknowledged before the broker had answered"


def test_an_error_that_was_reported_as_success_is_named(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.answer(partition=0, base_offset=-1, at_ms=20, error_code=NOT_ENOUGH_REPLICAS)
    told.result(0, at_ms=22, offset=told.deliver([0], partition=0, at_ms=100))
    (finding,) = early_ack.CHECK.run(told.evidence())
    assert finding.message == "1 record acknowledged although the broker answered NOT_ENOUGH_REPLICAS"


def test_response_for_one_copy_is_enough(story):
    told = acked(story, 102)
    told.deliver([0], partition=0, at_ms=500)
    assert early_ack.CHECK.run(told.evidence()) == []


@pytest.mark.parametrize(("at_ms", "doubted"), [(20, True), (5_000, False)])
def test_unread_bytes_may_contain_the_response(story, at_ms, doubted):
    told = acked(story, 50)
    told.frames.append(Frame(t_ns=ns(at_ms), lane=0, broker=1, conn=9, kind=FrameKind.OPAQUE))
    if not doubted:
        assert len(early_ack.CHECK.run(told.evidence())) == 1
        return
    with raises_code(Inconclusive, "frames-unreadable", count=1):
        early_ack.CHECK.run(told.evidence())


@pytest.mark.parametrize(
    ("sequence", "at_ms", "accused"),
    [((7, 0, 0), 40, False), ((7, 0, 0), 90, True), ((7, 0, 5), 40, True), ((7, 1, 0), 40, True)],
    ids=["its batch", "too late", "another batch", "another epoch"],
)
def test_duplicate_sequence_error_acknowledges_its_own_batch(story, sequence, at_ms, accused):
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1)
    told.request([0, 1], partition=0, at_ms=10, sequence=(7, 0, 0))
    told.append([0, 1], partition=0, producer_id=7, producer_epoch=0, sequence=0)
    told.close(1, at_ms=12)
    told.request([0, 1], partition=0, at_ms=30, conn=2, sequence=sequence)
    told.answer(0, -1, at_ms=at_ms, conn=2, error_code=46)
    for n in (0, 1):
        told.result(n, at_ms=50)
    assert [finding.count for finding in early_ack.CHECK.run(told.evidence())] == [2] * accused


def test_without_acks_all_the_check_does_not_apply(story):
    with raises_code(Unsupported, "acks-not-all", acks=1):
        early_ack.CHECK.run(acked(story, 50, config={"acks": 1}).evidence())
