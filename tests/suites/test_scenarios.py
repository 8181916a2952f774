"""Schedules keep to the load; consequences are seen where a fault bit and nowhere else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import registry
from harness.dice import Dice
from harness.judge import relevant
from harness.outcome import Guarantee
from harness.spec import Elapsed, FrameSeen
from suites.scenarios import consequence, generated, produce
from suites.scenarios.windows import QUIET_START_MS, windows

SCENARIOS = [produce.CALM, produce.LATENCY, produce.DISCONNECT, produce.DROPPED_RESPONSE]
GENERATED = [generated.NETWORK_SCENARIO, generated.ANY_SCENARIO]
SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@given(seed=SEEDS)
def test_a_schedule_lies_within_the_load_and_is_the_same_for_the_same_seed(scenario, seed):
    faults = scenario.schedule(Dice(seed, "s"))

    assert faults == scenario.schedule(Dice(seed, "s"))
    timed = [fault for fault in faults if isinstance(fault.start, Elapsed)]
    assert all(
        0 < fault.start.ms <= fault.start.ms + fault.duration_ms < scenario.workload.load_ms
        for fault in timed
    )
    seen = [fault for fault in faults if isinstance(fault.start, FrameSeen)]
    assert all(a.start.after_ms + a.duration_ms < b.start.after_ms for a, b in pairwise(seen))
    assert all(fault.start.after_ms + fault.duration_ms < scenario.workload.load_ms for fault in seen)
    assert scenario.workload.records >= 2_000
    assert scenario.guarantees == (Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT)


@given(
    seed=SEEDS,
    count=st.integers(1, 5),
    low=st.integers(0, 300),
    more=st.integers(0, 300),
    gap_ms=st.integers(0, 300),
)
def test_windows_are_quiet_before_between_and_after(seed, count, low, more, gap_ms):
    found = windows(Dice(seed, "w"), count=count, duration_ms=(low, low + more), gap_ms=gap_ms, load_ms=6_000)

    assert len(found) == count
    assert found[0][0] >= QUIET_START_MS
    assert all(low <= duration_ms <= low + more for _, duration_ms in found)
    assert all(b[0] - (a[0] + a[1]) >= gap_ms for a, b in pairwise(found))
    assert found[-1][0] + found[-1][1] < 6_000


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        windows(Dice(1, "w"), count=4, duration_ms=(10, 2_000), gap_ms=0, load_ms=6_000)


@pytest.mark.parametrize("scenario", [*SCENARIOS, *GENERATED], ids=lambda scenario: scenario.name)
def test_every_requirement_of_a_scenario_is_judged_by_some_check(scenario):
    judged = {
        requirement.id
        for check in registry.checks().values()
        for guarantee in scenario.guarantees
        for requirement in relevant(check, scenario, guarantee)
    }
    assert set(scenario.requirements) == judged


def test_traffic_is_counted(story):
    told = story()
    assert consequence.traffic(told.evidence()).count == 0

    told.deliver([0], partition=0, at_ms=10)
    assert consequence.traffic(told.evidence()).count == 1


@pytest.mark.parametrize(("took_ms", "count"), [(299, 0), (300, 1)])
def test_latency_shows_in_the_wait(story, took_ms, count):
    told = story()
    told.fault("latency", 1_000, 2_000, upstream_ms=100, downstream_ms=200)
    told.call(0, at_ms=1_100)
    told.result(0, at_ms=1_100 + took_ms)
    told.call(1, at_ms=100)
    told.result(1, at_ms=900)

    assert consequence.delayed(told.evidence()).count == count


def cut(told, *, called_ms=900, result_ms=1_300, closed_ms=1_001):
    """A cut at 1,000 ms over a bed of 200 ms round trip, on a connection that carried a Produce request."""
    told.fault("latency", 0, 5_000, upstream_ms=100, downstream_ms=100)
    told.fault("disconnect", 1_000, 1_050)
    told.request([9], partition=0, at_ms=300)
    told.close(1, at_ms=closed_ms)
    told.call(0, at_ms=called_ms)
    told.result(0, at_ms=result_ms)
    return consequence.cut_under_way(told.evidence()).count


@pytest.mark.parametrize(
    ("called_ms", "result_ms", "count"),
    [(900, 1_300, 1), (990, 1_300, 0), (900, 1_150, 0), (1_100, 1_400, 0)],
    ids=["under way", "still lingering", "answered before the cut", "called after the cut"],
)
def test_a_cut_must_meet_something_under_way(story, called_ms, result_ms, count):
    assert cut(story(), called_ms=called_ms, result_ms=result_ms) == count


def test_a_connection_that_ended_by_itself_was_not_cut(story):
    assert cut(story(), called_ms=2_900, closed_ms=3_000, result_ms=3_300) == 0


def test_a_cut_without_traffic_on_its_connections_meets_nothing(story):
    told = story()
    told.fault("disconnect", 1_000, 1_050)
    told.call(0, at_ms=500)
    told.close(1, at_ms=1_001)
    told.result(0, at_ms=1_500)

    assert consequence.cut_under_way(told.evidence()).count == 0


def test_a_record_without_a_result_was_under_way_too(story):
    told = story()
    told.fault("disconnect", 1_000, 1_050)
    told.deliver([9], partition=0, at_ms=300)
    told.close(1, at_ms=1_001)
    told.call(0, at_ms=500)

    assert consequence.cut_under_way(told.evidence()).count == 1


def test_a_dropped_answer_shows_in_a_record_that_was_given_up(story):
    told = story()
    told.call(0)
    told.fault("dropped_response", 5, 900)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=950, outcome="info", error="NETWORK_EXCEPTION")

    assert consequence.answers_dropped(told.evidence()).count == 1


@pytest.mark.parametrize("again", ["same bytes", "same sequence", "new batch"])
def test_a_dropped_answer_shows_in_what_is_sent_again(story, again):
    told = story()
    told.call(0, 1)
    told.fault("dropped_response", 5, 900)
    sequence = (7, 0, 0) if again == "same sequence" else None
    told.request([0, 1], partition=0, at_ms=10, sequence=sequence)
    told.answer(0, told.append([0, 1], partition=0), at_ms=11)
    told.result(0, at_ms=1_100)
    told.result(1, at_ms=1_100)
    assert consequence.answers_dropped(told.evidence()).count == 0

    told.request([0] if again == "new batch" else [0, 1], partition=0, at_ms=1_000, conn=2, sequence=sequence)
    if again == "new batch":
        told.append([0], partition=0)
    assert consequence.answers_dropped(told.evidence()).count == 1


def test_what_was_answered_outside_the_window_was_not_dropped(story):
    told = story()
    told.fault("dropped_response", 500, 900)
    told.deliver([0], partition=0, at_ms=10)
    told.deliver([0], partition=0, at_ms=1_000)

    assert consequence.answers_dropped(told.evidence()).count == 0
