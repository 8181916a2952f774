"""Companions: the other members of the group of the client under test, and where such a trial cannot run."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from harness.model.mode import Mode
from harness.model.rows import Ending
from harness.model.spec import ClientRef, Plan
from harness.planning import unavailable, validate_plan
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.plugins.client import InstalledClient, Launch
from harness.running.campaign import Campaign
from harness.simulated.trial import SimulatedTrial
from harness.storage.run_store import RunRecord, RunStore
from harness.workloads.consume.commands import members

REFERENCE = ClientRef("reference", registry.client("reference").default_version)
MIXED = registry.scenario("group/mixed-range")


def planned(client, broker="local:4.3.1x1"):
    [spec] = make_plan([MIXED], [client], [broker], [1]).trials
    return spec


def default(name):
    return ClientRef(name, registry.client(name).default_version)


@pytest.mark.parametrize("name", [*MIXED.companions, "sarama"])
def test_a_client_under_test_has_one_place_and_each_other_client_another(name):
    spec = planned(ClientRef(name, "0"))
    others = [default(each) for each in MIXED.companions if each != name]
    assert list(members(spec).values()) == [ClientRef(name, "0"), *others]
    assert list(members(spec)) == [f"m{number}" for number in range(1, len(others) + 2)]
    assert spec.clients == (spec.client, *spec.companions)


def test_the_plan_of_a_mixed_group_is_live_only():
    spec = planned(REFERENCE)
    validate_plan.check(Plan(1, (spec,)), Mode.LIVE)
    evidence = SimulatedTrial(planned(REFERENCE, "scripted:4.3.1x1"), "run").run()
    assert evidence.record.ending is Ending.UNSUPPORTED
    assert evidence.record.code == "companions-not-simulated"
    assert str(default("java")) in evidence.record.reason


def test_a_client_that_chooses_its_own_assignor_cannot_share_a_group():
    spec = planned(REFERENCE)
    assert unavailable.assignor(spec, {}) is None
    lack = unavailable.assignor(spec, {unavailable.ASSIGNOR: "it has its own"})
    assert lack is not None and lack.code == "assignor-not-agreed"
    alone = make_plan([replace(MIXED, companions=())], [REFERENCE], ["local:4.3.1x1"], [1]).trials[0]
    assert unavailable.assignor(alone, {unavailable.ASSIGNOR: "it has its own"}) is None


@pytest.mark.parametrize("lacking", ["java", None])
def test_a_trial_waits_for_all_of_its_clients(tmp_path, lacking):
    spec, asked = planned(REFERENCE), []

    class Lanes:
        def __init__(self, *_, **__):
            pass

        async def work(self, line):
            asked.append(len(line))

    plan = make_plan([MIXED], [REFERENCE], ["local:4.3.1x1"], [1])
    store = RunStore.create(tmp_path, RunRecord("r", "now", plan, 1, {}, []))
    clients = {ref: InstalledClient(ref, Launch((), {})) for ref in spec.clients if ref.name != lacking}
    asyncio.run(Campaign(store, clients, 1, print, print, print, pool=Lanes).run())
    assert asked == ([] if lacking else [1])
