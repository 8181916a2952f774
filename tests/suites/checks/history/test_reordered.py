"""Reordering: forbidden for idempotent clients and with one request in flight, otherwise to be explained."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
from msgspec.structs import replace as restruct

from harness.model.evidence import passed_and_stopped
from harness.model.rows import Disposition
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.plugins.check import Inconclusive
from suites.analysis.way import EFFECTS, Effect
from suites.checks.history.reordered import CHECK
from testkit.codes import raises_code
from tests.suites.story import stalled

OUT_OF_SIGHT = sorted(kind for kind, effects in EFFECTS.items() if Effect.HIDES_ATTEMPTS in effects)
ONE_IN_FLIGHT = {"max.in.flight.requests.per.connection": 1}


def codes(told):
    return [finding.anomaly for finding in CHECK.run(told.evidence())]


def overtaken(told):
    """Record 1 is stored before record 0. Both are acknowledged."""
    told.call(0, 1)
    told.result(1, at_ms=20, offset=told.deliver([1], partition=0, at_ms=15))
    told.result(0, at_ms=120, offset=told.deliver([0], partition=0, at_ms=115, conn=2))
    return told


def test_reordering_without_a_failure_is_found(story):
    (finding,) = CHECK.run(overtaken(story()).evidence())

    assert (finding.anomaly, finding.count) == ("unexplained-reorder", 1)
    assert (finding.samples[0]["n"], finding.samples[0]["overtaken_by"]) == (0, 1)


@pytest.mark.parametrize(
    ("stall_ms", "doubted"), [((200, 900), True), ((200, 600), False), ((1_200, 2_000), False)]
)
def test_stall_longer_than_the_slack_makes_reordering_doubtful(story, stall_ms, doubted):
    """The overtaken record exists from 0 to 1,120 ms."""
    told = story()
    told.call(0, 1)
    told.result(1, at_ms=20, offset=told.deliver([1], partition=0, at_ms=15))
    told.result(0, at_ms=1_120, offset=told.deliver([0], partition=0, at_ms=1_115, conn=2))
    disturbed = stalled(told.evidence(), *stall_ms)

    with raises_code(Inconclusive, "harness-stalled", stalled_ms=700) if doubted else nullcontext():
        assert [found.anomaly for found in CHECK.run(disturbed)] == ["unexplained-reorder"]


@pytest.mark.parametrize("failure", ["connection", "error", "timeout"])
def test_retry_may_be_overtaken(story, failure):
    told = story(config={"request.timeout.ms": 50} if failure == "timeout" else {})
    if failure == "connection":
        told.fault("disconnect", 29, 31)
        told.close(1, at_ms=30)
    else:
        told.request([0], partition=0, at_ms=10)
        if failure == "error":
            told.answer(0, -1, at_ms=11, error_code=7)

    assert CHECK.run(overtaken(told).evidence()) == []


def test_disconnect_without_a_fault_explains_nothing(story):
    told = story()
    told.close(1, at_ms=30)

    assert codes(overtaken(told)) == ["unexplained-reorder"]


@pytest.mark.parametrize(
    ("kind", "found"),
    [("bandwidth", []), ("late_response", ["unexplained-reorder"]), (None, ["unexplained-reorder"])],
)
def test_disconnect_held_by_a_fault_was_earlier_for_the_client(story, kind, found):
    told = story()
    if kind:
        told.fault(kind, 0, 2_000, upstream_bytes_per_s=1_000)
    told.close(1, at_ms=1_990)

    assert codes(overtaken(told)) == found


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, 0) for kind in OUT_OF_SIGHT),
        *(
            (kind, 1)
            for kind in ("latency", "close_at_frame", "dropped_response", "error_response", "leader_move")
        ),
    ],
)
def test_rejected_connection_attempt_is_invisible(story, kind, count):
    told = overtaken(story())
    told.fault(kind, 10, 100)

    assert len(CHECK.run(told.evidence())) == count


def test_each_fault_lists_its_invisible_effects():
    assert registry.table("faults").keys() == EFFECTS.keys()


def test_request_stopped_by_a_rule_times_out(story):
    told = story(config={"request.timeout.ms": 50})
    told.request([0], partition=0, at_ms=10)
    told.frames[-1] = restruct(told.frames[-1], disposition=Disposition.BLOCKED)
    evidence = overtaken(told).evidence()
    frames, stopped = passed_and_stopped(evidence.frames)

    assert CHECK.run(replace(evidence, frames=frames, blocked_frames=stopped)) == []
    assert len(CHECK.run(replace(evidence, frames=frames, blocked_frames=()))) == 1


@pytest.mark.parametrize(("called_ms", "found"), [(2_900, []), (3_400, ["avoidable-reorder"])])
def test_cut_excuses_only_earlier_calls(story, called_ms, found):
    """A reset ends at 3,000 ms. The client may still be handling its failures when the records are called."""
    told = story()
    told.fault("reset", 1_000, 3_000)
    told.open(5, 3_100)
    told.call(0, 1, at_ms=called_ms)
    told.result(1, at_ms=3_430, offset=told.deliver([1], partition=0, at_ms=3_420, conn=5))
    told.result(0, at_ms=3_450, offset=told.deliver([0], partition=0, at_ms=3_440, conn=5))

    assert codes(told) == found


def test_first_connection_has_lost_nothing(story):
    told = story()
    told.open(1, at_ms=5)

    assert len(CHECK.run(overtaken(told).evidence())) == 1


def test_later_failure_explains_nothing(story):
    told = overtaken(story())
    told.close(1, at_ms=5_000)

    assert len(CHECK.run(told.evidence())) == 1


@pytest.mark.parametrize(
    ("guarantee", "config"), [(Guarantee.IDEMPOTENT, {}), (Guarantee.AT_LEAST_ONCE, ONE_IN_FLIGHT)]
)
def test_sequences_or_one_in_flight_leave_no_explanation(story, guarantee, config):
    told = overtaken(story(guarantee, config))
    told.close(1, at_ms=30)

    (finding,) = CHECK.run(told.evidence())
    assert finding.anomaly == "reordered"


def test_every_overtaken_record_is_counted(story):
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1, 2, 3)
    for n in (0, 3, 1, 2):
        told.result(n, at_ms=20, offset=told.deliver([n], partition=0, at_ms=15))

    (finding,) = CHECK.run(told.evidence())
    assert [sample["n"] for sample in finding.samples] == [1, 2]


def test_other_partitions_and_late_duplicates_are_not_reordering(story):
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1, 2)
    for n, partition in ((1, 1), (0, 0), (2, 0)):
        told.result(n, at_ms=20, partition=partition, offset=told.deliver([n], partition, at_ms=15))
    told.deliver([0], partition=0, at_ms=90)

    assert CHECK.run(told.evidence()) == []


def test_unacknowledged_record_may_be_anywhere(story):
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1)
    told.result(1, at_ms=20, offset=told.deliver([1], partition=0, at_ms=15))
    told.deliver([0], partition=0, at_ms=30)
    told.result(0, at_ms=40, outcome="info", error="TIMED_OUT")

    assert CHECK.run(told.evidence()) == []


@pytest.mark.parametrize(
    ("has_failed", "found"), [(True, "avoidable-reorder"), (False, "unexplained-reorder")]
)
def test_failure_does_not_explain_a_reversed_batch(story, has_failed, found):
    told = story()
    told.call(0, 1)
    if has_failed:
        told.request([0, 1], partition=0, at_ms=10)
        told.answer(0, -1, at_ms=11, error_code=7)
    base = told.deliver([1, 0], partition=0, at_ms=100)
    for n, offset in ((0, base + 1), (1, base)):
        told.result(n, at_ms=102, offset=offset)

    assert codes(told) == [found]


def test_failure_on_the_connection_makes_reordering_avoidable(story):
    """A batch of another partition was rejected on the same connection."""
    told = story()
    told.call(0, 1, 2)
    told.request([2], partition=1, at_ms=10)
    told.answer(1, -1, at_ms=11, error_code=6)

    assert codes(overtaken(told)) == ["avoidable-reorder"]


def test_failure_on_another_broker_explains_nothing(story):
    told = story()
    told.fault("disconnect", 29, 31)
    told.faults[0] = restruct(told.faults[0], spec=restruct(told.faults[0].spec, brokers=(2,)))
    told.close(9, at_ms=30)
    told.frames[-1] = restruct(told.frames[-1], broker=2)

    assert codes(overtaken(told)) == ["unexplained-reorder"]


@pytest.mark.parametrize(("refused_ms", "found"), [(100, []), (118, ["unexplained-reorder"])])
def test_failure_after_the_request_did_not_delay_it(story, refused_ms, found):
    """The request of record 0 leaves at 115 ms and is answered at 120 ms."""
    told = story()
    told.call(0, 1)
    told.result(1, at_ms=20, offset=told.deliver([1], partition=0, at_ms=15))
    told.request([0], partition=0, at_ms=refused_ms - 1, conn=3)
    told.answer(0, -1, at_ms=refused_ms, conn=3, error_code=7)
    told.request([0], partition=0, at_ms=115)
    told.answer(0, told.append([0], partition=0), at_ms=120)
    told.result(0, at_ms=121, offset=1)

    assert codes(told) == found


@pytest.mark.parametrize(("failed", "found"), [(0, []), (1, ["avoidable-reorder"])])
def test_failed_attempt_of_another_batch_makes_reordering_avoidable(story, failed, found):
    told = story()
    told.call(0, 1)
    told.request([failed], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=7)
    told.result(1, at_ms=20, offset=told.deliver([1], partition=0, at_ms=15))
    told.result(0, at_ms=120, offset=told.deliver([0], partition=0, at_ms=115))

    assert codes(told) == found


def test_disconnect_in_a_fault_explains_nothing_before_the_fault(story):
    told = overtaken(story())
    told.fault("disconnect", 150, 160)
    told.close(1, at_ms=155)

    assert codes(told) == ["unexplained-reorder"]


@pytest.mark.parametrize(("kept_ms", "found"), [(4_000, []), (0, ["unexplained-reorder"])])
def test_long_held_request_may_be_overtaken_after_its_timeout(story, kept_ms, found):
    """A rule holds the request of record 0 until 4,015 ms. The client gives it up at 2,015 ms, and continues."""
    told = story(config={"request.timeout.ms": 2_000})
    told.call(0)
    told.call(1, at_ms=2_500)
    told.result(1, at_ms=2_520, offset=told.deliver([1], partition=0, at_ms=2_515, conn=2))
    told.request([0], partition=0, at_ms=4_015)
    told.frames[-1] = restruct(told.frames[-1], received_ns=told.frames[-1].t_ns - kept_ms * 1_000_000)
    told.answer(0, told.append([0], partition=0), at_ms=4_016)
    told.result(0, at_ms=4_017, offset=1)

    assert codes(told) == found
