"""Duplicates without a certain judgement, because of unreadable bytes or a stall."""

from __future__ import annotations

import pytest

from harness.model.rows import Frame, FrameKind
from harness.plugins.check import Inconclusive
from suites.checks.history.duplicate import CHECK
from testkit.codes import raises_code
from tests.suites.story import ns, stalled
from tests.suites.twice import NOTHING_WRONG, reasons, twice


@pytest.mark.parametrize(
    ("at_ms", "broker", "note", "doubted"),
    [
        (40, 1, None, True),
        (1_000, 1, None, False),
        (40, 2, None, False),
        (40, 1, "the beginning of a request that never ended", False),
    ],
    ids=["there and then", "long after", "another broker", "half a frame"],
)
def test_unread_bytes_excuse_what_they_may_contain(story, at_ms, broker, note, doubted):
    told = twice(story(), again_ms=80, conn=1)
    told.frames.append(
        Frame(t_ns=ns(at_ms), lane=0, broker=broker, conn=9, kind=FrameKind.OPAQUE, size_bytes=3, note=note)
    )
    if not doubted:
        assert reasons(told) == [NOTHING_WRONG]
        return
    with raises_code(Inconclusive, "frames-unreadable", count=1):
        CHECK.run(told.evidence())


@pytest.mark.parametrize(
    ("again_ms", "beats_ms", "doubted"),
    [(3_200, (0, 4_000), True), (80, (0, 4_000), False), (3_200, (0, 1_000, 2_000, 3_000, 9_000), False)],
    ids=["a timeout later", "at once", "stood still elsewhere"],
)
def test_stalled_client_may_have_timed_out(story, again_ms, beats_ms, doubted):
    told = twice(story(), again_ms=again_ms, conn=1)
    told.beat(*beats_ms)
    if not doubted:
        assert reasons(told) == [NOTHING_WRONG]
        return
    with raises_code(Inconclusive, "client-stalled", stalled_ms=4000):
        CHECK.run(told.evidence())


@pytest.mark.parametrize(
    ("stall_ms", "doubted"),
    [((20, 700), True), ((20, 400), False), ((-900, -100), False), ((700, 1_900), False)],
)
def test_stalled_harness_makes_a_duplicate_doubtful(story, stall_ms, doubted):
    """The record exists from 0 to its second request at 800 ms. The slack is half a second in any case."""
    evidence = twice(story(), again_ms=800).evidence()
    disturbed = stalled(evidence, *stall_ms)
    if doubted:
        with raises_code(Inconclusive, "harness-stalled", stalled_ms=680):
            CHECK.run(disturbed)
    else:
        assert [finding.anomaly for finding in CHECK.run(disturbed)] == ["unexplained-duplicate"]


@pytest.mark.parametrize(
    ("stall_ms", "again_ms", "doubted"),
    [
        ((-900, 8), 1_200, False),
        ((5, 800), 1_200, True),
        ((5, 800), 1_700, False),
        ((1_210, 1_900), 1_200, False),
    ],
)
def test_stall_excuses_a_retry_after_the_result_only_if_it_hid_the_request(
    story, stall_ms, again_ms, doubted
):
    """The record is reported as written at 12 ms. Two times of different connections have half a second of slack."""
    told = story()
    told.call(0)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=12, offset=0)
    told.deliver([0], partition=0, at_ms=again_ms, conn=2)
    disturbed = stalled(told.evidence(), *stall_ms)
    if doubted:
        with raises_code(Inconclusive, "harness-stalled", stalled_ms=795):
            CHECK.run(disturbed)
    else:
        (finding,) = CHECK.run(disturbed)
        assert finding.samples[0]["why"] == "it was sent again after it had been reported as written"
