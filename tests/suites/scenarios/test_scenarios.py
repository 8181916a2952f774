"""Schedules stay within the load, and consequences are seen only where a fault had an effect."""

from __future__ import annotations

from dataclasses import replace
from inspect import getdoc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.dice import Dice
from harness.model.mode import Mode
from harness.model.spec import AtTime, ClientRef, OnFrame
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from suites.requirements.coverage import Judged, coverage
from suites.scenarios import produce
from suites.scenarios.effects import consequence
from suites.scenarios.windows import QUIET_START_MS, windows

SCENARIOS = [produce.CALM, produce.LATENCY, produce.DISCONNECT, produce.DROPPED_RESPONSE]
SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@given(seed=SEEDS)
def test_schedule_is_within_the_load_and_follows_its_seed(scenario, seed):
    faults = scenario.schedule(Dice(seed, "s"))

    assert faults == scenario.schedule(Dice(seed, "s"))
    timed = [fault for fault in faults if isinstance(fault.start, AtTime)]
    assert all(
        0 < fault.start.ms <= fault.start.ms + fault.duration_ms < scenario.workload.load_ms
        for fault in timed
    )
    seen = [fault for fault in faults if isinstance(fault.start, OnFrame)]
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
def test_windows_have_quiet_time_before_between_and_after(seed, count, low, more, gap_ms):
    found = windows(Dice(seed, "w"), count=count, duration_ms=(low, low + more), gap_ms=gap_ms, load_ms=6_000)

    assert len(found) == count
    assert found[0][0] >= QUIET_START_MS
    assert all(low <= duration_ms <= low + more for _, duration_ms in found)
    assert all(b[0] - (a[0] + a[1]) >= gap_ms for a, b in pairwise(found))
    assert found[-1][0] + found[-1][1] < 6_000


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        windows(Dice(1, "w"), count=4, duration_ms=(10, 2_000), gap_ms=0, load_ms=6_000)


ALL = registry.table("scenarios").values()
#: Scenarios in which brokers lose acknowledged records, which no guarantee covers.
FORGETFUL = {"log_trim", "topic_recreate"}


@pytest.fixture(scope="module")
def checked():
    """Return the behaviours that a property or a check judges."""
    return {
        row.behaviour.id
        for _, rows in coverage().values()
        for row in rows
        if row.judged is not Judged.NOT_YET
    }


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_scenario_has_a_few_behaviours_and_each_is_judged(scenario, checked):
    assert 3 <= len(set(scenario.exercises)) == len(scenario.exercises) <= 10
    assert set(scenario.exercises) <= checked


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_scenario_describes_the_effect_of_its_fault(scenario):
    assert getdoc(scenario.consequence), scenario.name
    assert scenario.opt_in or scenario.consequence is not consequence.hit


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
@given(seed=SEEDS)
@settings(max_examples=20)
def test_every_schedule_can_run_in_the_worlds_of_its_scenario(scenario, seed):
    faults = scenario.schedule(Dice(seed, "s"))
    assert faults == scenario.schedule(Dice(seed, "s"))
    for fault in faults:
        kind = registry.fault(fault.kind)
        assert scenario.modes <= kind.modes
        for mode in scenario.modes:
            kind.check(fault, mode)


def test_every_kind_of_fault_is_in_a_scenario():
    used = {
        fault.kind for scenario in ALL for seed in range(40) for fault in scenario.schedule(Dice(seed, "s"))
    }
    assert used == set(registry.names("faults"))


def test_data_loss_scenarios_promise_only_at_most_once():
    for scenario in ALL:
        kinds = {fault.kind for seed in range(40) for fault in scenario.schedule(Dice(seed, "s"))}
        if kinds & FORGETFUL:
            assert scenario.guarantees == (Guarantee.AT_MOST_ONCE,), scenario.name


@pytest.mark.parametrize(
    "scenario",
    [each for each in ALL if Mode.SIMULATED in each.modes and each.consequence is not consequence.traffic],
    ids=lambda scenario: scenario.name,
)
def test_consequence_is_seen_only_in_the_trial_with_faults(scenario):
    reference = ClientRef("reference", registry.client("reference").default_version)
    evidence = SimulatedTrial(spec_of(scenario, reference, seed=1), RUN_ID).run()
    assert scenario.consequence(evidence).count > 0
    assert scenario.consequence(replace(evidence, faults=())).count == 0


def test_traffic_is_counted(story):
    told = story()
    assert consequence.traffic(told.evidence()).count == 0

    told.deliver([0], partition=0, at_ms=10)
    assert consequence.traffic(told.evidence()).count == 1


@pytest.mark.parametrize(("took_ms", "count"), [(299, 0), (300, 1)])
def test_latency_shows_in_waiting_times(story, took_ms, count):
    told = story()
    told.fault("latency", 1_000, 2_000, upstream_ms=100, downstream_ms=200)
    told.call(0, at_ms=1_100)
    told.result(0, at_ms=1_100 + took_ms)
    told.call(1, at_ms=100)
    told.result(1, at_ms=900)

    assert consequence.delayed(told.evidence()).count == count


def cut(told, *, called_ms=900, result_ms=1_300, closed_ms=1_001):
    """A cut at 1,000 ms with a round trip of 200 ms, on a connection that carried a Produce request."""
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
def test_cut_must_affect_traffic_in_flight(story, called_ms, result_ms, count):
    assert cut(story(), called_ms=called_ms, result_ms=result_ms) == count


def test_connection_that_ended_by_itself_was_not_cut(story):
    assert cut(story(), called_ms=2_900, closed_ms=3_000, result_ms=3_300) == 0


def test_cut_of_idle_connections_has_no_effect(story):
    told = story()
    told.fault("disconnect", 1_000, 1_050)
    told.call(0, at_ms=500)
    told.close(1, at_ms=1_001)
    told.result(0, at_ms=1_500)

    assert consequence.cut_under_way(told.evidence()).count == 0


def test_record_without_a_result_was_in_flight(story):
    told = story()
    told.fault("disconnect", 1_000, 1_050)
    told.deliver([9], partition=0, at_ms=300)
    told.close(1, at_ms=1_001)
    told.call(0, at_ms=500)

    assert consequence.cut_under_way(told.evidence()).count == 1


def test_dropped_response_shows_in_a_given_up_record(story):
    told = story()
    told.call(0)
    told.fault("dropped_response", 5, 900)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=950, outcome="info", error="NETWORK_EXCEPTION")

    assert consequence.answers_dropped(told.evidence()).count == 1


@pytest.mark.parametrize("again", ["same bytes", "same sequence", "new batch"])
def test_dropped_response_shows_in_a_retry(story, again):
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


@pytest.mark.parametrize(
    ("kind", "shows"),
    [("partition", consequence.answers_swallowed), ("late_response", consequence.answers_held_back)],
)
def test_missing_responses_show_in_retries(story, kind, shows):
    told = story()
    told.call(0)
    told.fault(kind, 5, 900)
    told.deliver([0], partition=0, at_ms=10)
    told.result(0, at_ms=1_100)
    assert shows(told.evidence()).count == 0

    told.deliver([0], partition=0, at_ms=1_000, conn=2)
    assert shows(told.evidence()).count == 1


@pytest.mark.parametrize(("took_ms", "count"), [(249, 0), (260, 1)])
def test_slowed_traffic_is_slower_than_without_the_fault(story, took_ms, count):
    told = story()
    told.call(0, at_ms=100)
    told.result(0, at_ms=150)
    told.fault("bandwidth", 1_000, 3_000)
    told.call(1, at_ms=1_500)
    told.result(1, at_ms=1_500 + took_ms)
    assert consequence.slowed(told.evidence()).count == count


def test_traffic_that_was_slow_before_is_not_slowed(story):
    told = story()
    told.call(0, at_ms=100)
    told.result(0, at_ms=400)
    told.fault("bandwidth", 1_000, 3_000)
    told.call(1, at_ms=1_500)
    told.result(1, at_ms=1_900)
    assert consequence.slowed(told.evidence()).count == 0


@pytest.mark.parametrize(
    ("called_ms", "result_ms", "count"),
    [(1_100, 2_010, 1), (1_900, 2_010, 0), (1_100, 1_500, 0), (900, 2_010, 0)],
    ids=["until the end", "called too late to tell", "not held up", "called before"],
)
def test_record_that_waits_for_the_end_of_a_fault_was_delayed(story, called_ms, result_ms, count):
    told = story()
    told.fault("refuse", 1_000, 2_000)
    told.call(0, at_ms=called_ms)
    told.result(0, at_ms=result_ms)
    assert consequence.held_up(told.evidence()).count == count


def test_record_without_a_result_was_delayed_and_stalled(story):
    told = story()
    told.fault("refuse", 1_000, 2_000)
    told.call(0, at_ms=1_100)
    assert consequence.held_up(told.evidence()).count == consequence.stalled(told.evidence()).count == 1


@pytest.mark.parametrize(("took_ms", "count"), [(2_900, 0), (3_000, 1)])
def test_record_stalls_for_at_most_a_request_timeout(story, took_ms, count):
    told = story()
    told.fault("half_open", 1_000, 2_000)
    told.call(0)
    told.result(0, at_ms=took_ms)
    assert consequence.stalled(told.evidence()).count == count
    assert consequence.stalled(replace(told.evidence(), faults=())).count == 0


@pytest.mark.parametrize(("took_ms", "count"), [(29_900, 0), (30_000, 1), (None, 1)])
def test_record_can_outlive_its_delivery_timeout(story, took_ms, count):
    told = story()
    told.fault("broker_pause", 1_000, 2_000)
    told.call(0)
    if took_ms is not None:
        told.result(0, at_ms=took_ms)
    assert consequence.outwaited(told.evidence()).count == count
    assert consequence.outwaited(replace(told.evidence(), faults=())).count == 0


def test_response_outside_the_window_was_not_dropped(story):
    told = story()
    told.fault("dropped_response", 500, 900)
    told.deliver([0], partition=0, at_ms=10)
    told.deliver([0], partition=0, at_ms=1_000)

    assert consequence.answers_dropped(told.evidence()).count == 0
