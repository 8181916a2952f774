"""Records that fail although the network recovered in time."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace as copied

import pytest
from msgspec.structs import replace as restruct

from harness.model.rows import FrameKind
from harness.model.spec import Workload
from harness.model.verdicts import Level
from harness.plugins.check import Inconclusive, NotExercised, Unsupported
from suites.checks.history import gave_up
from testkit.codes import raises_code
from tests.suites.story import stalled


def failed(told, after_ms, outcome="info"):
    told.call(0)
    told.result(0, at_ms=after_ms, outcome=outcome, error="_TRANSPORT")
    return told


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_failure_before_the_delivery_timeout_is_giving_up(story, outcome):
    (finding,) = gave_up.CHECK.run(failed(story(), 1_000, outcome).evidence())
    assert finding.message == "1 record given up although the network had recovered (_TRANSPORT)"


@pytest.mark.parametrize(("after_ms", "given_up"), [(31_000, 0), (5_000, 1)])
def test_out_of_order_response_excuses_only_after_the_delivery_timeout(story, after_ms, given_up):
    """Java waits for its delivery timeout.

    No broker responds in this order. A witness rule dropped the previous response.
    """
    told = story()
    told.call(0, 1)
    told.request([0], 0, at_ms=1)
    told.request([1], 0, at_ms=2)
    told.answer(0, told.append([1], 0), at_ms=3)
    told.result(0, at_ms=after_ms, outcome="info", error="TimeoutException")
    assert len(gave_up.CHECK.run(told.evidence())) == given_up


def test_failure_at_the_delivery_timeout_is_excused_by_an_outage(story):
    told = failed(story(), 29_000)
    told.fault("refuse", 0, 29_000)
    assert gave_up.CHECK.run(told.evidence()) == []


def test_failure_at_the_delivery_timeout_without_an_outage_is_giving_up(story):
    told = failed(story(), 31_000)
    told.fault("refuse", 0, 5_000)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.count == 1


def test_call_refused_after_max_block_is_not_giving_up(story):
    told = failed(story(), 10_000, "fail")
    told.fault("refuse", 0, 5_000)
    assert gave_up.CHECK.run(told.evidence()) == []


@pytest.mark.parametrize(("first_request_ms", "accused"), [(None, 1), (500, 1), (10_200, 1), (12_000, 0)])
def test_a_blocked_call_is_excused_while_the_client_is_starting(story, first_request_ms, accused):
    """A starved client took 12 s from its connection to its first request, and max.block.ms is 10 s."""
    told = failed(story(), 10_300, "fail")
    if first_request_ms is not None:
        told.other(FrameKind.REQUEST, first_request_ms)
    assert sum(finding.count for finding in gave_up.CHECK.run(told.evidence())) == accused


def test_younger_record_of_a_batch_may_end_with_its_oldest(story):
    told = story()
    told.call(0)
    told.call(1, at_ms=20_000)
    told.fault("refuse", 0, 30_000)
    for n in (0, 1):
        told.result(n, at_ms=30_000, outcome="info", error="_TIMED_OUT")
    assert gave_up.CHECK.run(told.evidence()) == []


def test_only_the_same_result_may_end_with_an_expired_record(story):
    told = story()
    told.call(0)
    told.call(1, at_ms=20_000)
    told.fault("refuse", 0, 30_000)
    told.result(0, at_ms=30_000, outcome="info", error="_TIMED_OUT")
    told.result(1, at_ms=30_000, outcome="info", error="_TRANSPORT")
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.count == 1


def stored_but_too_large_for_its_retry(told, outcome="info"):
    """Record 0 is stored and its response is lost. The broker then rejects the retry as too large."""
    told.call(0)
    told.request([0], partition=0, at_ms=1, sequence=(7, 0, 0))
    told.append([0], 0, producer_id=7, producer_epoch=0, sequence=0)
    told.close(1, at_ms=900)
    told.fault("dropped_response", 0, 900)
    told.request([0], partition=0, at_ms=1_000, conn=2, sequence=(7, 0, 0))
    told.answer(0, -1, at_ms=1_001, conn=2, error_code=10)
    told.result(0, at_ms=1_100, outcome=outcome, error="OUT_OF_ORDER_SEQUENCE_NUMBER")
    return told


def test_unknown_result_that_cannot_be_resolved_is_not_giving_up(story):
    assert gave_up.CHECK.run(stored_but_too_large_for_its_retry(story()).evidence()) == []


def test_definite_failure_of_a_stored_record_is_giving_up(story):
    (finding,) = gave_up.CHECK.run(stored_but_too_large_for_its_retry(story(), "fail").evidence())
    assert finding.count == 1


def test_stored_record_whose_retry_got_another_error_was_given_up(story):
    told = stored_but_too_large_for_its_retry(story())
    told.frames[-1] = restruct(
        told.frames[-1], produce=(restruct(told.frames[-1].produce[0], error_code=45),)
    )
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.count == 1


def test_success_is_not_giving_up(story):
    assert gave_up.CHECK.run(failed(story(), 5, "ok").evidence()) == []


def slow_broker(told, from_ms, until_ms):
    told.request([1], partition=0, at_ms=from_ms)
    told.answer(0, 0, at_ms=until_ms)


def slow_client(told, from_ms, until_ms):
    told.beat(*range(0, from_ms + 1, 1_000), *range(until_ms, 50_000, 1_000))


def test_harness_stall_in_the_fault_free_period_excuses(story):
    told = failed(story(), 31_000)
    told.fault("refuse", 0, 20_000)
    with raises_code(Inconclusive, "harness-stalled", stalled_ms=5000):
        gave_up.CHECK.run(stalled(told.evidence(), 24_000, 29_000))
    assert gave_up.CHECK.run(stalled(told.evidence(), 24_000, 24_450))
    assert gave_up.CHECK.run(stalled(told.evidence(), 32_000, 37_000))


@pytest.mark.parametrize(("length_ms", "is_doubted"), [(300, True), (150, False)])
def test_repeated_short_stalls_of_the_harness_excuse(story, length_ms, is_doubted):
    """On a machine with a thousand processes the Java client received its metadata after ten seconds."""
    told = failed(story(config={"request.timeout.ms": 3_000}), 10_100, "fail")
    often = [moment for at in range(500, 10_000, 1_000) for moment in (at, at + length_ms)]
    with raises_code(Inconclusive, "harness-stalled") if is_doubted else nullcontext():
        assert gave_up.CHECK.run(stalled(told.evidence(), *often))


STOOD_STILL = pytest.mark.parametrize("stall", [slow_broker, slow_client])


@STOOD_STILL
def test_stall_does_not_excuse_an_early_failure(story, stall):
    told = failed(story(), 6_500)
    stall(told, 1_000, 6_000)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.anomaly == "gave-up"


@STOOD_STILL
def test_broker_or_client_stall_in_the_fault_free_period_excuses(story, stall):
    told = failed(story(), 31_000)
    told.fault("refuse", 0, 20_000)
    stall(told, 24_000, 29_000)
    with pytest.raises(Inconclusive) as doubted:
        gave_up.CHECK.run(told.evidence())
    assert doubted.value.reason.params["stalled_ms"] == 5_000


@STOOD_STILL
def test_stall_after_the_failure_does_not_excuse(story, stall):
    told = failed(story(), 31_000)
    told.fault("refuse", 0, 20_000)
    stall(told, 32_000, 37_000)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.count == 1


def test_fault_on_another_broker_does_not_excuse(story):
    told = failed(story(), 31_000)
    told.call(1)
    told.result(1, at_ms=5, partition=0, offset=told.deliver([1], 0, at_ms=2))
    told.result(0, at_ms=31_000, partition=0, outcome="info", error="_TRANSPORT")
    told.fault("refuse", 0, 29_000)
    elsewhere = restruct(told.faults[0], spec=restruct(told.faults[0].spec, brokers=(2,)))
    assert gave_up.CHECK.run(told.evidence()) == []
    told.faults[0] = elsewhere
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert finding.count == 1


@pytest.mark.parametrize("setting", ["retries", "delivery.timeout.ms"])
def test_client_with_a_fixed_limit_differs_with_its_share(story, setting):
    told = failed(story(not_set={setting: "three at most"}), 5)
    told.call(1, 2, 3)
    for n in (1, 2, 3):
        told.result(n, at_ms=9)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count, finding.level) == ("gave-up-early", 1, Level.SHOULD)
    assert finding.params["lacks"] == (setting,)
    assert "25.0%" in finding.message


def test_configured_limit_disables_the_check(story):
    with raises_code(Unsupported, "retries-limited", retries=2):
        gave_up.CHECK.run(failed(story(config={"retries": 2}), 5).evidence())


def test_a_limit_that_the_user_chose_is_named_as_the_users(story):
    limited = failed(story(config={"retries": 3}), 5).evidence()
    spec = restruct(limited.record.spec, origins={"retries": "user"})
    with raises_code(NotExercised, "setting-of-yours", setting="retries", value="3") as raised:
        gave_up.CHECK.run(copied(limited, record=restruct(limited.record, spec=spec)))
    assert raised.value.reason.message == "not exercised: retries=3 is your setting"


@pytest.mark.parametrize(("between", "count"), [("ok", 1), ("info", 0)])
def test_batch_ends_with_its_expired_record_unless_one_was_acknowledged(story, between, count):
    """Records 0, 4 and 8 have the same partition. Record 0 is older than its delivery timeout."""
    told = story()
    told.fault("refuse", 0, 30_000)
    told.call(0)
    told.call(4, 8, at_ms=20_000)
    told.result(0, at_ms=30_000, partition=0, outcome="info", error="_TIMED_OUT")
    told.result(
        4, at_ms=30_000, partition=0, outcome=between, error=None if between == "ok" else "_TIMED_OUT"
    )
    told.result(8, at_ms=30_000, partition=0, outcome="info", error="_TIMED_OUT")
    assert sum(finding.count for finding in gave_up.CHECK.run(told.evidence())) == count


@pytest.mark.parametrize(("grown_ms", "count"), [(500, 0), (40_000, 1)])
def test_key_that_moved_with_its_topic_is_where_its_later_records_are(story, grown_ms, count):
    """Record 0 shows the key's partition.

    Record 8 has the same key, record 1 another, and both end when 1 expires.
    """
    told = story(workload=Workload(partitions=3, keys=8, value_bytes=60))
    told.fault("refuse", 1_000, 30_000)
    told.fault("topic_growth", grown_ms, grown_ms + 10)
    told.call(0, at_ms=0)
    told.result(0, at_ms=12, offset=told.deliver([0], partition=0, at_ms=10))
    told.call(1, at_ms=1_000)
    told.call(8, at_ms=20_000)
    for n in (1, 8):
        told.result(n, at_ms=31_000, partition=-1, outcome="info", error="_TIMED_OUT")
    assert sum(finding.count for finding in gave_up.CHECK.run(told.evidence())) == count


def out_of_turn(told, *, hangs_up_ms):
    """Record 0 expires. Its batch was on a connection on which record 1's response arrived first."""
    told.call(0, 1)
    told.request([0], 0, at_ms=10)
    told.request([1], 0, at_ms=20)
    told.append([1], 0)
    told.answer(0, 0, at_ms=30)
    told.close(1, at_ms=hangs_up_ms)
    told.result(0, at_ms=30_000, partition=0, outcome="info", error="TimeoutException")
    told.result(1, at_ms=30_000, partition=0, outcome="info", error="TimeoutException")
    return told


def test_records_of_that_time_may_wait_until_they_expire(story):
    """Whether in the log or not, and on any connection."""
    told = out_of_turn(story(), hangs_up_ms=3_000)
    told.call(3)
    told.result(3, at_ms=30_000, partition=1, outcome="info", error="TimeoutException")
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count, finding.level) == ("given-up-out-of-turn", 3, Level.SHOULD)


def test_later_records_were_given_up(story):
    told = out_of_turn(story(), hangs_up_ms=3_000)
    told.call(2, at_ms=33_000)
    told.result(2, at_ms=63_000, partition=0, outcome="info", error="TimeoutException")
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count, finding.samples[0]["n"]) == ("gave-up", 1, 2)


def test_out_of_order_response_does_not_excuse_an_early_failure(story):
    told = out_of_turn(story(), hangs_up_ms=3_000)
    told.call(2)
    told.result(2, at_ms=500, partition=0, outcome="info", error="TimeoutException")
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.anomaly, finding.samples[0]["n"]) == ("gave-up", 2)
