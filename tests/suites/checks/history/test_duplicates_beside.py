"""Avoidable duplicates: something failed, but not the request with the record."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as restruct

from harness.model.rows import FrameKind
from tests.suites.twice import AVOIDABLE, NOTHING_WRONG, reasons, twice


def test_connection_lost_a_second_after_the_response_is_avoidable(story):
    """Other responses on that connection may have been lost."""
    told = twice(story(), again_ms=1_600)
    told.fault("disconnect", 1_500, 1_500)
    told.close(1, at_ms=1_500)

    assert reasons(told) == [AVOIDABLE]


def test_cut_does_not_affect_a_surviving_connection(story):
    told = twice(story(), again_ms=3_100)
    told.fault("close_at_frame", 5, 20)
    told.close(1, at_ms=3_000)

    assert reasons(told) == [NOTHING_WRONG]


@pytest.mark.parametrize("kind", ["disconnect", "reset", "refuse"])
def test_failed_connection_attempt_makes_a_duplicate_avoidable(story, kind):
    told = twice(story(), again_ms=3_100)
    told.fault(kind, 5, 20)
    told.close(1, at_ms=3_000)

    assert reasons(told) == [AVOIDABLE]


@pytest.mark.parametrize(("begin_ms", "found"), [(60, AVOIDABLE), (90, NOTHING_WRONG), (400, NOTHING_WRONG)])
def test_fault_explains_nothing_before_it(story, begin_ms, found):
    told = twice(story(), again_ms=80, conn=1)
    told.fault("refuse", begin_ms, 1_500)

    assert reasons(told) == [found]


@pytest.mark.parametrize(("sent_ms", "found"), [(3_000, AVOIDABLE), (4_600, NOTHING_WRONG)])
def test_failure_long_before_a_batch_is_unexplained(story, sent_ms, found):
    told = story(config={"request.timeout.ms": 3_000})
    told.call(0)
    told.fault("refuse", 5, 1_000)
    told.deliver([0], partition=0, at_ms=sent_ms)
    told.result(0, at_ms=sent_ms + 90, offset=told.deliver([0], partition=0, at_ms=sent_ms + 80))

    assert reasons(told) == [found]


@pytest.mark.parametrize(
    ("partition", "conn", "found"), [(0, 9, AVOIDABLE), (1, 1, AVOIDABLE), (1, 9, NOTHING_WRONG)]
)
def test_failure_on_the_same_connection_or_partition_is_avoidable(story, partition, conn, found):
    told = story()
    told.call(0, 1)
    told.deliver([0], partition=0, at_ms=10)
    told.request([1], partition=partition, at_ms=20, conn=conn)
    told.answer(partition, -1, at_ms=21, conn=conn, error_code=7)
    told.result(0, at_ms=82, offset=told.deliver([0], partition=0, at_ms=80))

    assert reasons(told) == [found]


@pytest.mark.parametrize("api", ["Produce", "Metadata"])
@pytest.mark.parametrize(
    ("waits_ms", "ended_ms", "excused"), [(2_100, 2_105, True), (900, 2_105, False), (2_100, 1_000, False)]
)
def test_client_that_times_out_may_close_all_connections(story, api, waits_ms, ended_ms, excused):
    """Another request waits on its own connection, which ends shortly before or long before."""
    told = story(config={"request.timeout.ms": 2_000})
    told.call(0, at_ms=5)
    told.call(1)
    if api == "Produce":
        told.request([1], partition=1, at_ms=2_110 - waits_ms, conn=9)
    else:
        told.other(FrameKind.REQUEST, 2_110 - waits_ms, conn=9)
    told.close(9, at_ms=ended_ms)
    told.request([0], partition=0, at_ms=2_100)
    told.close(1, at_ms=2_110)
    told.answer(0, told.append([0], partition=0), at_ms=2_111)
    told.result(0, at_ms=2_202, offset=told.deliver([0], partition=0, at_ms=2_200, conn=2))

    assert (reasons(told) == []) == excused


@pytest.mark.parametrize(
    ("again_ms", "disorder_ms", "found"),
    [
        (3_100, 12, [AVOIDABLE]),
        (3_100, -50, [AVOIDABLE]),
        (2_000, 12, [NOTHING_WRONG]),  # not overdue yet
        (3_100, 700, [NOTHING_WRONG]),  # it had its response by then
        (3_100, -900, [NOTHING_WRONG]),  # that connection had ended
    ],
)
def test_parse_error_may_lose_responses_of_other_connections(story, again_ms, disorder_ms, found):
    """Java behaves so: the exception ends the round in which it read all of them."""
    told = story(config={"request.timeout.ms": 3_000})
    twice(told, again_ms=again_ms)
    told.other(FrameKind.OPEN, disorder_ms - 2, conn=9)
    for at, (kind, correlation_id) in enumerate(
        [(FrameKind.REQUEST, 1), (FrameKind.REQUEST, 2), (FrameKind.RESPONSE, 2), (FrameKind.RESPONSE, 1)]
    ):
        told.other(kind, disorder_ms + at / 10, conn=9)
        told.frames[-1] = restruct(told.frames[-1], correlation_id=correlation_id)
    told.close(9, at_ms=disorder_ms + 200)

    assert reasons(told) == found
