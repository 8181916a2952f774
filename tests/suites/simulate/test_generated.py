"""Generated trials: what a seed may draw, and that it always draws the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.mode import Mode
from harness.model.spec import AtTime, ClientRef, FaultSpec, OnFrame, OnPhase, Plan
from harness.model.verdicts import Guarantee
from harness.planning import validate_plan
from harness.planning.fault_strategies import unlike
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.simulated.generated import drawn_broker, spec_of
from harness.simulated.judged import try_spec
from harness.workloads.consume import accounting
from suites.scenarios import generated_groups
from suites.scenarios.generated import ANY, NETWORK
from suites.scenarios.generated_frames import KINDS
from suites.scenarios.generated_groups import ASSIGNORS

CLIENT = ClientRef("reference", "0")
REFERENCE = ClientRef("reference", registry.client("reference").default_version)
ALO = Guarantee.AT_LEAST_ONCE
SEEDS = range(1, 151)
DRAWN = {"generated/any": ANY, "generated/network": NETWORK, "generated/frames": KINDS}


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("generated/any", {"simulated"}),
        ("generated/network", {"simulated", "live"}),
        ("generated/frames", {"simulated", "live"}),
    ],
)
def test_every_seed_draws_a_valid_trial(name: str, modes: set[Mode]) -> None:
    scenario = registry.scenario(name)
    kinds, guarantees = set(), set()
    for seed in SEEDS:
        spec = spec_of(scenario, CLIENT, seed)
        assert spec == spec_of(scenario, CLIENT, seed)
        assert spec.workload.records >= 100 and 2 <= len(spec.faults) <= 6
        load_ms = spec.workload.load_ms
        for fault in spec.faults:
            kind = registry.fault(fault.kind)
            assert modes <= kind.modes
            for mode in modes:
                kind.check(fault, mode)
            if not isinstance(fault.start, OnPhase):
                at_ms = fault.start.after_ms if isinstance(fault.start, OnFrame) else fault.start.ms
                assert 0 <= at_ms < load_ms
            kinds.add(fault.kind)
        assert 1 <= int(spec.config["max.in.flight.requests.per.connection"]) <= 5
        guarantees.add(spec.guarantee)
        assert (spec.config["retries"] == 0) is (spec.guarantee is Guarantee.AT_MOST_ONCE)
    assert guarantees == {Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT}
    assert kinds == {each for each in kinds if modes <= registry.fault(each).modes}
    assert kinds == set(DRAWN[name])


@pytest.mark.parametrize("name", ["generated/group", "generated/group-new-protocol"])
def test_every_seed_draws_a_valid_group(name: str) -> None:
    scenario = registry.scenario(name)
    kinds, members, strategies, durations_ms = set(), set(), set(), set()
    for seed in SEEDS:
        spec = spec_of(scenario, CLIENT, seed)
        assert spec == spec_of(scenario, CLIENT, seed)
        assert 2 <= len(spec.faults) <= 6 and any(
            fault.kind in generated_groups.SURE for fault in spec.faults
        )
        for fault in spec.faults:
            for mode in Mode:
                registry.fault(fault.kind).check(fault, mode)
            assert isinstance(fault.start, AtTime) and fault.start.ms <= spec.workload.load_ms
            durations_ms.add(fault.duration_ms)
        assert spec.workload.load_ms <= 10_000
        kinds |= {fault.kind for fault in spec.faults}
        members.add(spec.workload.params["members"])
        strategies.add(spec.config.get("partition.assignment.strategy"))
        # A static member of KIP-848 that was killed has no successor until its session ends.
        assert not (spec.workload.params["static"] and spec.config["group.protocol"] == "consumer")
    assert kinds == set(generated_groups.KINDS) and members == {1, 2, 3, 4, 5}
    assert max(durations_ms) <= 9_000
    assert strategies == ({None} if scenario.config["group.protocol"] == "consumer" else set(ASSIGNORS))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["generated/group", "generated/group-new-protocol"])
def test_a_generated_group_delivers_every_record(name: str, seed: int) -> None:
    scenario = registry.scenario(name)
    evidence, verdict = try_spec(spec_of(replace(scenario, guarantees=(ALO,)), REFERENCE, seed))
    assert verdict.verdict == "pass", verdict.reason
    assert accounting.missed(evidence) == []


@pytest.mark.parametrize(
    "name",
    [
        "generated/any",
        "generated/frames",
        "generated/sequences",
        "generated/group",
        "generated/group-new-protocol",
    ],
)
def test_every_generated_trial_can_be_replayed_as_a_plan(name: str) -> None:
    scenario, seeds = registry.scenario(name), range(1, 1_001)
    validate_plan.check(Plan(1, tuple(spec_of(scenario, CLIENT, seed) for seed in seeds)), Mode.SIMULATED)


def test_faults_of_a_schedule_differ() -> None:
    first, second = (FaultSpec("latency", AtTime(ms), 100) for ms in (1, 2))
    assert unlike([first, second, first]) == (first, second)


def test_all_clients_and_guarantees_of_a_live_plan_get_the_same_faults() -> None:
    scenario = registry.scenario("generated/network")
    clients = [CLIENT, ClientRef("other", "1")]
    plan = make_plan([scenario], clients, ["local:4.3.1x1"], [5])
    assert len(plan.trials) == 6
    first = plan.trials[0]
    assert all((trial.faults, trial.workload) == (first.faults, first.workload) for trial in plan.trials)


def test_generated_clusters_have_one_to_three_brokers() -> None:
    assert {drawn_broker(seed)[-2:] for seed in SEEDS} == {"x1", "x2", "x3"}
