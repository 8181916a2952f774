"""A broker that dies under several trials: each is repeated alone, and a client that kills it again is left out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from harness.model.rows import Ending
from harness.model.spec import ClientRef
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.plugins.client import InstalledClient, Launch
from harness.running.campaign import Campaign
from harness.running.suspects import LEFT_OUT
from harness.running.trial_runner import Execution
from harness.storage.run_store import RunRecord, RunStore
from harness.system.machine import Machine

HONEST, HOSTILE = ClientRef("reference", "0.1.0", ()), ClientRef("confluent-kafka", "2.16.1", ())


class Lanes:
    """Lanes that run two trials at a time, on clusters that die when a hostile trial is among them."""

    clusters = 0

    def __init__(self, broker, lanes, logs, say, exclusive=False, after_death=None):
        self.at_a_time = 1 if exclusive else 2
        self.after_death = after_death

    async def work(self, line):
        while not line.over:
            cluster = SimpleNamespace(dead=False)
            Lanes.clusters += 1
            while not line.over and not cluster.dead:
                jobs = [await line.take() for _ in range(min(self.at_a_time, len(line)))]
                cluster.begun = []
                await asyncio.gather(*(job(cluster, None) for job in jobs))
            if cluster.dead and self.after_death is not None:
                await self.after_death()


@pytest.fixture
def campaign(tmp_path):
    """Return ``campaign(hostile)``, which runs six trials of each client and returns the verdicts and messages."""

    class Played(Execution):
        async def run(self, index, spec, cluster, lane):
            cluster.begun.append(spec)
            await asyncio.sleep(0)  # so that the other trial has begun too
            cluster.dead |= any(each.client in hostile for each in cluster.begun)
            runs.append(spec.trial)
            code = "broker-died" if cluster.dead else ""
            return self.left_out(index, spec, "...", Ending.HARNESS_ERROR, code or "fine")

    hostile, runs = set(), []
    plan = make_plan([registry.scenario("produce/calm")], [HONEST, HOSTILE], ["local:4.3.1x1"], range(1, 4))

    def carry_out(*culprits):
        hostile.update(culprits)
        Lanes.clusters = 0
        told, said = [], []
        store = RunStore.create(tmp_path, RunRecord("r", "now", plan, 2, {}, []))
        clients = {ref: InstalledClient(ref, Launch((), {})) for ref in (HONEST, HOSTILE)}
        campaign = Campaign(
            store,
            clients,
            2,
            lambda _: None,
            told.append,
            said.append,
            machine=Machine(2, 23 * 2**30),
            pool=Lanes,
            execution=Played,
        )
        asyncio.run(campaign.run())
        return SimpleNamespace(plan=plan, told=told, said=said, runs=runs, store=store)

    return carry_out


def test_only_a_client_that_kills_a_broker_alone_is_left_out(campaign):
    seen = campaign(HOSTILE)

    codes = {verdict.trial: verdict.code for verdict in seen.told}
    assert len(seen.told) == len(seen.plan.trials) == len(codes)
    assert {code for trial, code in codes.items() if "reference" in trial} == {"fine"}
    mine = [code for trial, code in codes.items() if "confluent" in trial]
    assert sorted(set(mine)) == sorted(["broker-died", LEFT_OUT]) and mine.count("broker-died") == 1
    [died] = [trial for trial, code in codes.items() if code == "broker-died"]
    assert [died in said for said in seen.said if said.startswith(f"{HOSTILE} ")] == [True]
    assert not any(said.startswith(f"{HONEST} ") for said in seen.said)
    assert all(seen.store.finished(spec.trial) for spec in seen.plan.trials)


def test_no_client_is_left_out_if_no_broker_dies(campaign):
    seen = campaign()

    assert {verdict.code for verdict in seen.told} == {"fine"} and Lanes.clusters == 1
    assert len(seen.runs) == len(seen.plan.trials)
