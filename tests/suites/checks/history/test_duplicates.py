"""Duplicates: forbidden to an idempotent client, and to the others unless the witness can explain them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as restruct

from harness.model.verdicts import Guarantee
from suites.checks.history.duplicate import CHECK
from tests.suites.twice import AVOIDABLE, NOTHING_WRONG, reasons, twice


def test_an_idempotent_client_has_no_excuse(story):
    told = twice(story(Guarantee.IDEMPOTENT), again_ms=80, answered=False)
    told.close(1, at_ms=12)

    (finding,) = CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count) == ("duplicate", 1)
    assert finding.samples[0] == {"n": 0, "copies": 2, "places": "0/0, 0/1"}


def test_the_connection_ended_before_the_broker_answered(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=12)

    assert reasons(told) == []


def test_the_answer_was_on_its_way_when_the_connection_ended(story):
    told = twice(story(), again_ms=80)
    told.fault("disconnect", 11, 13)
    told.close(1, at_ms=12)

    assert reasons(told) == []


def test_a_client_that_hangs_up_in_peace_has_no_reason_to_send_again(story):
    told = twice(story(), again_ms=80)
    told.close(1, at_ms=12)

    assert reasons(told) == [NOTHING_WRONG]


@pytest.mark.parametrize(
    ("ended_ms", "closed_ms", "excused"),
    [(-700, 10.5, True), (-700, 12, False), (-4_000, 10.5, False), (None, 10.5, False)],
)
def test_who_still_recovers_from_a_fault_may_hang_up_before_the_answer_comes(
    story, ended_ms, closed_ms, excused
):
    """Behind an answer that came it may not, nor when the fault is long over, nor where there was none."""
    told = story(config={"request.timeout.ms": 2_000})
    if ended_ms is not None:
        told.fault("dropped_response", -5_000, ended_ms)
    twice(told, again_ms=80)
    told.close(1, at_ms=closed_ms)

    assert (reasons(told) == []) == excused


def test_the_answer_was_swallowed_by_a_fault(story):
    told = twice(story(), again_ms=1_600)
    told.fault("dropped_response", 5, 1_500)
    told.close(1, at_ms=1_500)

    assert reasons(told) == []


def held_and_sent_again(told, kind):
    """Both requests come at 3,000 ms, where the fault ends: the client may have waited long for the first."""
    told.call(0)
    told.fault(kind, 5, 3_000, **({"upstream_bytes_per_s": 1_000} if kind == "bandwidth" else {}))
    told.deliver([0], partition=0, at_ms=3_000)
    told.result(0, at_ms=3_002, offset=told.deliver([0], partition=0, at_ms=3_000))
    return told


@pytest.mark.parametrize("kind", ["delayed_past_disconnect", "bandwidth", "slicer"])
def test_what_a_fault_keeps_on_its_way_may_have_timed_out_before_anybody_saw_it(story, kind):
    """The retry may go by the same connection: a client need not close it over a timeout."""
    told = held_and_sent_again(story(config={"request.timeout.ms": 2_000}), kind)

    assert reasons(told) == []


@pytest.mark.parametrize(("kind", "timeout_ms"), [("latency", 2_000), ("delayed_past_disconnect", 5_000)])
def test_what_cannot_have_waited_so_long_has_not_timed_out(story, kind, timeout_ms):
    told = held_and_sent_again(story(config={"request.timeout.ms": timeout_ms}), kind)

    assert reasons(told) == [NOTHING_WRONG]


def test_a_connection_that_ended_after_the_retry_is_no_cause(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=2_000)

    assert reasons(told) == [NOTHING_WRONG]


def test_latency_gives_an_answer_longer_to_arrive(story):
    told = twice(story(), again_ms=1_600)
    told.fault("latency", 0, 2_000, upstream_ms=0, downstream_ms=1_400)
    told.close(1, at_ms=1_500)

    assert reasons(told) == []


def test_the_broker_answered_with_an_error_after_appending(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.append([0], partition=0)
    told.answer(0, -1, at_ms=11, error_code=20)
    told.deliver([0], partition=0, at_ms=120)

    assert reasons(told) == []


def test_a_request_without_an_answer_times_out(story):
    assert reasons(twice(story(), again_ms=3_010, conn=1, answered=False)) == []


def test_nothing_was_wrong_and_yet_it_was_sent_again(story):
    told = twice(story(), again_ms=80, conn=1)

    assert reasons(told) == [NOTHING_WRONG]


def test_a_second_request_while_the_first_is_under_way_is_not_a_retry(story):
    told = twice(story(), again_ms=30, conn=1, answered=False)

    assert reasons(told) == [NOTHING_WRONG]


def test_sent_again_after_it_had_been_reported_as_written(story):
    told = story()
    told.call(0)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=12, offset=0)
    told.fault("dropped_response", 5, 1_500)
    told.close(1, at_ms=1_500)
    told.deliver([0], partition=0, at_ms=1_600, conn=2)

    assert reasons(told) == ["it was sent again after it had been reported as written"]


def test_twice_in_one_request(story):
    told = story()
    told.call(0)
    told.deliver([0, 0], partition=0, at_ms=10)

    assert reasons(told) == ["it was twice in one request"]


def test_a_copy_that_no_request_brought(story):
    told = story()
    told.call(0)
    told.deliver([0], partition=0, at_ms=10)
    told.append([0], partition=0, batch_crc=1)

    assert reasons(told) == ["no Produce request that the witness saw put it there"]


def test_a_client_may_make_new_batches_of_what_it_retries(story):
    told = story()
    told.call(0, 1, 2)
    for numbers, at_ms in (([0], 10), ([1, 2], 11)):
        told.request(numbers, partition=0, at_ms=at_ms)
        told.append(numbers, partition=0)
    told.close(1, at_ms=12)
    told.deliver([0, 1, 2], partition=0, at_ms=90, conn=2)

    assert reasons(told) == []


def test_bytes_held_back_on_a_dead_connection_may_pass_after_the_retry(story):
    told = story()
    told.call(0)
    told.fault("latency", 0, 1_000, upstream_ms=200, downstream_ms=0)
    told.deliver([0], partition=0, at_ms=400, conn=2)
    told.request([0], partition=0, at_ms=410, conn=1)
    told.append([0], partition=0)
    told.close(1, at_ms=411)

    assert reasons(told) == []


def test_a_request_that_was_kept_for_long_was_sent_before_its_retry(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=6_000)
    told.frames[-1] = restruct(told.frames[-1], received_ns=told.frames[-1].t_ns - 5_990_000_000)
    told.append([0], partition=0)
    told.close(1, at_ms=3_050)
    told.result(0, at_ms=3_200, offset=told.deliver([0], partition=0, at_ms=3_100, conn=2))

    assert CHECK.run(told.evidence()) == []


@pytest.mark.parametrize(("begin_ms", "found"), [(5, []), (2_400, [NOTHING_WRONG])])
def test_a_latency_holds_nothing_that_was_sent_before_it_began(story, begin_ms, found):
    """The request comes at 2,500 ms: by 2,000 ms too late if the latency was there by then."""
    told = story(config={"request.timeout.ms": 2_000})
    told.call(0)
    told.fault("latency", begin_ms, 4_000, upstream_ms=2_000, downstream_ms=0)
    told.deliver([0], partition=0, at_ms=2_500)
    told.result(0, at_ms=2_702, offset=told.deliver([0], partition=0, at_ms=2_700))

    assert reasons(told) == found


def test_an_error_that_comes_when_the_client_has_hung_up_over_a_timeout_is_not_awaited(story):
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
        (80, 1, []),  # the second one was told: the first may have been lost
        (350, 1, [NOTHING_WRONG]),  # nothing had happened when it was sent again
        (80, 0, [AVOIDABLE]),  # the first was told: it was not lost
    ],
)
def test_a_connection_is_lost_no_sooner_than_what_cuts_it(story, fault_ms, told_of, found):
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
def test_a_record_may_be_there_a_thousand_times(story, answered, found):
    """Each attempt fails by a cut; the last one but one, in the second case, does not."""
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
