"""Acknowledgements are the broker's word: never before its answer, for whichever copy."""

from __future__ import annotations

import pytest

from harness.check import Inconclusive, Unsupported
from harness.rows import Frame, FrameKind
from suites.checks import early_ack


def acked(story, at_ms, **more):
    told = story(**more)
    told.call(0)
    offset = told.deliver([0], partition=0, at_ms=100)
    told.result(0, at_ms=at_ms, offset=offset)
    return told


def test_after_the_answer_is_right(story):
    assert early_ack.CHECK.find(acked(story, 102).evidence()) == []


def test_before_the_answer_is_wrong_even_if_the_record_arrives(story):
    (finding,) = early_ack.CHECK.find(acked(story, 50).evidence())
    assert finding.message == "1 record acknowledged before the broker had answered"


def test_one_answer_of_several_copies_is_enough(story):
    told = acked(story, 102)
    told.deliver([0], partition=0, at_ms=500)
    assert early_ack.CHECK.find(told.evidence()) == []


def test_what_the_witness_could_not_read_may_have_been_the_answer(story):
    told = acked(story, 50)
    told.frames.append(Frame(t_ns=1, lane=0, broker=1, conn=9, kind=FrameKind.OPAQUE))
    with pytest.raises(Inconclusive, match="could not read 1 frame"):
        early_ack.CHECK.find(told.evidence())


def test_without_acks_all_it_is_not_claimed(story):
    with pytest.raises(Unsupported, match="acks=1"):
        early_ack.CHECK.find(acked(story, 50, config={"acks": 1}).evidence())
