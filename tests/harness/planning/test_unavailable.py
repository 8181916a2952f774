"""Missing brokers or client features are reported before a trial runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import Guarantee
from harness.planning import unavailable
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.plugins.client import InstalledClient, Launch
from harness.running.budget import Budget
from harness.running.campaign import Campaign, Lanes
from harness.simulated.judged import try_spec
from harness.storage.run_store import RunRecord, RunStore

REFERENCE = ClientRef("reference", registry.client("reference").default_version)


def spec(scenario: str, broker: str) -> TrialSpec:
    return make_plan([registry.scenario(scenario)], [REFERENCE], [broker], [1]).trials[0]


@pytest.mark.parametrize(
    ("scenario", "broker", "lacks"),
    [
        ("frame/stale-metadata", "local:4.3.1x1", True),
        ("frame/stale-metadata", "local:4.3.1x3", False),
        ("produce/calm", "local:4.3.1x1", False),
        ("broker/killed", "local:4.3.1x1", True),
        ("broker/smaller-batches", "local:4.3.1x1", False),
        ("broker/killed", "elsewhere:1", False),
    ],
)
def test_a_scenario_with_too_few_brokers_is_unavailable(scenario: str, broker: str, lacks: bool) -> None:
    why = unavailable.by_plan(spec(scenario, broker))
    assert (why is not None) == lacks
    if why is not None:
        assert why.code == "too-few-brokers"
        assert (why.params["scenario"], why.params["least"], why.params["nodes"]) == (scenario, 3, 1)


def test_a_scenario_with_several_requests_in_flight_needs_a_client_that_sends_them() -> None:
    told = {"max.in.flight.requests.per.connection": "a node gets one request at a time"}
    assert unavailable.in_flight(spec("frame/swapped-answers", "local:4.3.1x1"), {}) is None
    assert unavailable.in_flight(spec("produce/calm", "local:4.3.1x1"), told) is None
    why = unavailable.in_flight(spec("frame/swapped-answers", "local:4.3.1x1"), told)
    assert why is not None and why.code == "too-few-in-flight"
    assert (why.params["least"], why.params["why"]) == (2, *told.values())


def test_every_scenario_requires_the_brokers_it_names() -> None:
    for scenario in registry.table("scenarios").values():
        for seed in range(1, 12):
            [trial, *_] = make_plan([scenario], [REFERENCE], ["local:4.3.1x3"], [seed]).trials
            named = [node for fault in trial.faults for node in fault.brokers]
            assert max(named, default=1) <= scenario.needs_brokers, scenario.name


def test_a_simulated_trial_with_too_few_brokers_is_unsupported() -> None:
    evidence, verdict = try_spec(spec("broker/paused", "scripted:4.3.1x2"))
    assert (verdict.verdict, verdict.reason) == (
        "unsupported",
        "scenario broker/paused needs 3 brokers, and scripted:4.3.1x2 has 2",
    )
    assert not evidence.frames


def test_a_campaign_starts_no_cluster_for_unavailable_trials(tmp_path: Path) -> None:
    def no_cluster(*_: object, **__: object) -> Lanes:
        raise AssertionError("a cluster was asked for")

    scenario = registry.scenario("frame/stale-metadata")
    plan = make_plan([scenario], [REFERENCE], ["local:4.3.1x1"], [1])
    store = RunStore.create(tmp_path, RunRecord("r", "now", plan, 1, {}, []))
    clients = {REFERENCE: InstalledClient(REFERENCE, Launch((), {}))}
    said: list[str] = []
    campaign = Campaign(
        store,
        clients,
        1,
        lambda _: None,
        lambda verdict: said.append(verdict.verdict),
        budget=Budget(),
        pool=no_cluster,
    )
    asyncio.run(campaign.run())
    assert said == ["unsupported"] * len(plan.trials) and len(plan.trials) == 2
    assert {verdict.guarantee for verdict in store.verdicts()} == {
        Guarantee.AT_LEAST_ONCE,
        Guarantee.IDEMPOTENT,
    }
