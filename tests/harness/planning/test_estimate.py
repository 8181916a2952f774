"""Properties of estimates, and a comparison of one with a measured run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.spec import AtTime, ClientRef, FaultSpec, OnFrame, OnPhase, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning import estimate
from harness.planning.estimate import BEGIN_S, BESIDES_MS, TRIAL_CORE_S, clusters, trial_s
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.system.machine import Machine
from harness.system.needs import NODE_START_CORE_S

LOAD = Workload()
CLIENTS = [ClientRef("reference", "0.1.0"), ClientRef("confluent-kafka", "2.16.1")]


def trial(*faults: FaultSpec, broker: str = "local:4.3.1x1", alone: bool = False) -> TrialSpec:
    return TrialSpec(
        "t", CLIENTS[0], broker, "produce/calm", Guarantee.IDEMPOTENT, 1, LOAD, faults, {}, alone
    )


def lasting(duration_ms: int, broker: str = "local:4.3.1x1", alone: bool = False) -> TrialSpec:
    return trial(FaultSpec("refuse", AtTime(0), duration_ms), broker=broker, alone=alone)


plans = st.lists(
    st.builds(
        lasting,
        st.integers(0, 60_000),
        st.sampled_from(["local:4.3.1x1", "local:4.3.1x3"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
).map(lambda trials: Plan(1, tuple(trials)))
jobs, cores = st.integers(1, 32), st.integers(1, 16)


def on(cores: float) -> Machine:
    return Machine(cores, 2**37)


@given(plans, jobs, cores)
def test_more_jobs_or_cores_or_fewer_trials_are_never_slower(plan, jobs, cores):
    takes_s = estimate.of(plan, jobs, on(cores)).seconds
    assert estimate.of(plan, jobs + 1, on(cores)).seconds <= takes_s
    assert estimate.of(plan, jobs, on(cores + 1)).seconds <= takes_s
    assert estimate.of(replace(plan, trials=plan.trials[:-1]), jobs, on(cores)).seconds <= takes_s


@given(plans, jobs, cores)
def test_a_plan_takes_at_least_its_longest_trial_and_its_computation(plan, jobs, cores):
    takes_s = estimate.of(plan, jobs, on(cores)).seconds
    assert takes_s >= BEGIN_S + max(map(trial_s, plan.trials))
    assert takes_s >= BEGIN_S + len(plan.trials) * TRIAL_CORE_S / cores


@given(plans, jobs, cores)
def test_the_useful_jobs_are_the_fewest_that_are_as_quick(plan, jobs, cores):
    told = estimate.of(plan, jobs, on(cores))
    assert estimate.of(plan, told.useful_jobs, on(cores)).seconds == told.seconds
    assert told.useful_jobs == 1 or estimate.of(plan, told.useful_jobs - 1, on(cores)).seconds > told.seconds
    assert (f"(-j {told.useful_jobs} " in told.sentence) == (told.useful_jobs < jobs)


def test_a_trial_lasts_as_long_as_its_load_or_its_last_fault():
    calm_s = trial_s(trial())
    assert calm_s == (LOAD.load_ms + BESIDES_MS) / 1_000
    assert trial_s(trial(FaultSpec("refuse", AtTime(100), 200))) == calm_s
    late = [
        FaultSpec("refuse", start, LOAD.load_ms)
        for start in (AtTime(1_000), OnFrame("Produce", after_ms=1_000))
    ]
    assert all(trial_s(trial(fault)) == calm_s + 1 for fault in late)
    assert trial_s(trial(FaultSpec("refuse", OnPhase("startup"), LOAD.load_ms + 500))) == calm_s + 0.5


def test_faults_on_brokers_add_the_start_of_their_own_nodes():
    """The kind of fault decides and not the plan, as it does when the trial runs."""
    fault = FaultSpec("broker_kill", AtTime(0), 0)
    shared = Plan(1, (trial(broker="local:4.3.1x3"),) * 10)
    alone = Plan(1, (trial(fault, broker="local:4.3.1x3"),) * 10)
    assert estimate.of(alone, 10, on(1_000)).seconds == pytest.approx(
        estimate.of(shared, 10, on(1_000)).seconds, 0.1
    )
    more_s = estimate.of(alone, 10, on(0.1)).seconds - estimate.of(shared, 10, on(0.1)).seconds
    assert more_s == pytest.approx(10 * NODE_START_CORE_S / 0.1)


def test_another_cluster_is_started_only_if_it_saves_time():
    """One trial needs one cluster; many long ones use as many as the machine supports, but not more than jobs."""
    some = [lasting(60_000, "local:4.3.1x3", alone=True)] * 20
    assert clusters(some[:1], 32, on(4)) == 1
    assert clusters(some, 32, on(4)) > clusters(some, 32, on(1)) == 2
    assert clusters(some, 3, on(4)) == 3
    brief = [lasting(0, "local:4.3.1x3", alone=True)] * 2
    assert clusters(brief, 32, on(0.5)) == 1


def test_the_estimate_is_near_a_measured_run():
    """`kafka-trial run 'produce/*' -c reference -c confluent-kafka --seeds 4 -j 16` on two cores took 61.6 s."""
    scenarios = [
        scenario for name, scenario in registry.table("scenarios").items() if name.startswith("produce/")
    ]
    plan = make_plan(scenarios, CLIENTS, ["local:4.3.1x1"], range(1, 5))
    assert len(plan.trials) == 64
    told = estimate.of(plan, 16, on(2))
    assert 0.8 * 61.6 <= told.seconds <= 1.2 * 61.6
    assert told.useful_jobs < 16
