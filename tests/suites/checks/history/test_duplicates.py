"""Duplicates: forbidden for idempotent clients, and for others unless the witness explains them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as restruct

from harness.model.verdicts import Guarantee
from suites.checks.history.duplicate import CHECK
from tests.suites.twice import AVOIDABLE, NOTHING_WRONG, reasons, twice


def test_idempotent_client_has_no_excuse(story):
    told = twice(story(Guarantee.IDEMPOTENT), again_ms=80, answered=False)
    told.close(1, at_ms=12)

    (finding,) = CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count) == ("duplicate", 1)
    assert finding.samples[0] == {"n": 0, "copies": 2, "places": "0/0, 0/1"}


def test_disconnect_before_the_response_explains(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=12)

    assert reasons(told) == []


def test_disconnect_during_the_response_explains(story):
    told = twice(story(), again_ms=80)
    told.fault("disconnect", 11, 13)
    told.close(1, at_ms=12)

    assert reasons(told) == []


def test_disconnect_without_a_fault_does_not_explain(story):
    told = twice(story(), again_ms=80)
    told.close(1, at_ms=12)

    assert reasons(told) == [NOTHING_WRONG]


@pytest.mark.parametrize(
    ("ended_ms", "closed_ms", "excused"),
    [(-700, 10.5, True), (-700, 12, False), (-4_000, 10.5, False), (None, 10.5, False)],
)
def test_disconnect_while_recovering_from_a_fault_explains(story, ended_ms, closed_ms, excused):
    """It does not explain after a received response, long after the fault, or without a fault."""
    told = story(config={"request.timeout.ms": 2_000})
    if ended_ms is not None:
        told.fault("dropped_response", -5_000, ended_ms)
    twice(told, again_ms=80)
    told.close(1, at_ms=closed_ms)

    assert (reasons(told) == []) == excused


def test_response_dropped_by_a_fault_explains(story):
    told = twice(story(), again_ms=1_600)
    told.fault("dropped_response", 5, 1_500)
    told.close(1, at_ms=1_500)

    assert reasons(told) == []


def held_and_sent_again(told, kind):
    """Both requests arrive at 3,000 ms, when the fault ends. The client may have waited long for the first."""
    told.call(0)
    told.fault(kind, 5, 3_000, **({"upstream_bytes_per_s": 1_000} if kind == "bandwidth" else {}))
    told.deliver([0], partition=0, at_ms=3_000)
    told.result(0, at_ms=3_002, offset=told.deliver([0], partition=0, at_ms=3_000))
    return told


@pytest.mark.parametrize("kind", ["delayed_past_disconnect", "bandwidth", "slicer"])
def test_request_held_by_a_fault_may_have_timed_out(story, kind):
    """The retry may use the same connection, because a client need not close it after a timeout."""
    told = held_and_sent_again(story(config={"request.timeout.ms": 2_000}), kind)

    assert reasons(told) == []


@pytest.mark.parametrize(("kind", "timeout_ms"), [("latency", 2_000), ("delayed_past_disconnect", 5_000)])
def test_request_held_too_briefly_has_not_timed_out(story, kind, timeout_ms):
    told = held_and_sent_again(story(config={"request.timeout.ms": timeout_ms}), kind)

    assert reasons(told) == [NOTHING_WRONG]


def test_disconnect_after_the_retry_does_not_explain(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=2_000)

    assert reasons(told) == [NOTHING_WRONG]


def test_latency_delays_a_response(story):
    told = twice(story(), again_ms=1_600)
    told.fault("latency", 0, 2_000, upstream_ms=0, downstream_ms=1_400)
    told.close(1, at_ms=1_500)

    assert reasons(told) == []


def test_error_response_after_appending_explains(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.append([0], partition=0)
    told.answer(0, -1, at_ms=11, error_code=20)
    told.deliver([0], partition=0, at_ms=120)

    assert reasons(told) == []


def test_request_without_a_response_times_out(story):
    assert reasons(twice(story(), again_ms=3_010, conn=1, answered=False)) == []


def test_retry_without_a_failure_is_unexplained(story):
    told = twice(story(), again_ms=80, conn=1)

    assert reasons(told) == [NOTHING_WRONG]


def test_second_request_during_the_first_is_unexplained(story):
    told = twice(story(), again_ms=30, conn=1, answered=False)

    assert reasons(told) == [NOTHING_WRONG]


def test_retry_after_the_acknowledgement_is_unexplained(story):
    told = story()
    told.call(0)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=12, offset=0)
    told.fault("dropped_response", 5, 1_500)
    told.close(1, at_ms=1_500)
    told.deliver([0], partition=0, at_ms=1_600, conn=2)

    assert reasons(told) == ["it was sent again after it had been reported as written"]


def test_record_twice_in_one_request_is_unexplained(story):
    told = story()
    told.call(0)
    told.deliver([0, 0], partition=0, at_ms=10)

    assert reasons(told) == ["it was twice in one request"]


def test_copy_without_a_request_is_unexplained(story):
    told = story()
    told.call(0)
    told.deliver([0], partition=0, at_ms=10)
    told.append([0], partition=0, batch_crc=1)

    assert reasons(told) == ["no Produce request that the witness saw put it there"]


def test_retry_may_be_batched_differently(story):
    told = story()
    told.call(0, 1, 2)
    for numbers, at_ms in (([0], 10), ([1, 2], 11)):
        told.request(numbers, partition=0, at_ms=at_ms)
        told.append(numbers, partition=0)
    told.close(1, at_ms=12)
    told.deliver([0, 1, 2], partition=0, at_ms=90, conn=2)

    assert reasons(told) == []


def test_held_bytes_of_a_dead_connection_may_arrive_after_the_retry(story):
    told = story()
    told.call(0)
    told.fault("latency", 0, 1_000, upstream_ms=200, downstream_ms=0)
    told.deliver([0], partition=0, at_ms=400, conn=2)
    told.request([0], partition=0, at_ms=410, conn=1)
    told.append([0], partition=0)
    told.close(1, at_ms=411)

    assert reasons(told) == []


def test_long_held_request_was_sent_before_its_retry(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=6_000)
    told.frames[-1] = restruct(told.frames[-1], received_ns=told.frames[-1].t_ns - 5_990_000_000)
    told.append([0], partition=0)
    told.close(1, at_ms=3_050)
    told.result(0, at_ms=3_200, offset=told.deliver([0], partition=0, at_ms=3_100, conn=2))

    assert CHECK.run(told.evidence()) == []


@pytest.mark.parametrize(("begin_ms", "found"), [(5, []), (2_400, [NOTHING_WRONG])])
def test_latency_does_not_delay_earlier_requests(story, begin_ms, found):
    """The request arrives at 2,500 ms, too late if the latency was in effect at 2,000 ms."""
    told = story(config={"request.timeout.ms": 2_000})
    told.call(0)
    told.fault("latency", begin_ms, 4_000, upstream_ms=2_000, downstream_ms=0)
    told.deliver([0], partition=0, at_ms=2_500)
    told.result(0, at_ms=2_702, offset=told.deliver([0], partition=0, at_ms=2_700))

    assert reasons(told) == found


def test_client_does_not_receive_an_error_after_disconnecting(story):
    told = story(config={"request.timeout.ms": 2_000})
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.append([0], partition=0)
    told.close(1, at_ms=2_020)
    told.answer(0, -1, at_ms=2_700, error_code=7)
    told.result(0, at_ms=2_102, offset=told.deliver([0], partition=0, at_ms=2_100, conn=2))

    assert reasons(told) == []


@pytest.mark.parametrize(
    ("fault_ms", "told_of", "found"),
    [
        (80, 1, []),  # the client received the second response, but the first may have been lost
        (350, 1, [NOTHING_WRONG]),  # nothing had failed when it was sent again
        (80, 0, [AVOIDABLE]),  # the client received the first response, so it was not lost
    ],
)
def test_connection_is_lost_no_earlier_than_its_cut(story, fault_ms, told_of, found):
    told = story()
    told.call(0)
    bases = []
    for conn, at_ms in ((1, 80), (2, 100)):
        told.request([0], 0, at_ms=at_ms, conn=conn)
        bases.append(told.append([0], 0))
        told.answer(0, bases[-1], at_ms=at_ms + 5, conn=conn)
    told.result(0, at_ms=120, offset=bases[told_of])
    told.fault("reset", fault_ms, 500)
    told.close(1, at_ms=400)

    assert reasons(told) == found


@pytest.mark.parametrize(("answered", "found"), [(False, []), (True, [AVOIDABLE])])
def test_a_thousand_copies_can_be_explained(story, answered, found):
    """Each attempt fails by a cut, except for the last but one in the second case."""
    told, count = story(), 1_100
    told.call(0)
    for at in range(count):
        told.request([0], 0, at_ms=10 * at, conn=at)
        base = told.append([0], 0)
        if answered and at == count - 2:
            told.answer(0, base, at_ms=10 * at + 1, conn=at)
        elif at < count - 1:
            told.close(at, at_ms=10 * at + 2)
    told.answer(0, base, at_ms=10 * count, conn=count - 1)
    told.result(0, at_ms=10 * count + 1, offset=base)

    assert reasons(told) == found


@pytest.mark.parametrize(
    ("again", "cause"),
    [
        ({"sequence": 5}, ": sent again under a new sequence"),
        ({"producer_epoch": 1}, ": sent again under a new epoch"),
        ({"producer_id": 8, "producer_epoch": 1}, ""),
        ({}, ""),
    ],
    ids=["another sequence", "another epoch", "another producer id", "the same"],
)
def test_an_idempotent_duplicate_says_that_its_sequence_or_epoch_is_new(story, again, cause):
    told = story(Guarantee.IDEMPOTENT)
    told.call(0)
    for place in ({}, again):
        told.append([0], partition=0, **{"producer_id": 7, "producer_epoch": 0, "sequence": 0} | place)
    (finding,) = CHECK.run(told.evidence())
    assert finding.message == f"1 record more than once in the log, 1 surplus copy in all{cause}"
