"""The number of concurrent trials of a campaign on one cluster: as requested, up to the machine's capacity."""

from __future__ import annotations

import asyncio

import pytest

from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.plugins.client import InstalledClient, Launch
from harness.running.campaign import Campaign
from harness.storage.run_store import RunRecord, RunStore
from harness.system.machine import Machine

REFERENCE = ClientRef("reference", "0.1.0", ())


@pytest.mark.parametrize(
    ("broker", "jobs", "lanes"),
    [("local:4.3.1x1", 30, 30), ("local:4.3.1x1", 3, 3), ("local:4.3.1x3", 30, 7), ("local:4.3.1x3", 3, 3)],
)
def test_lanes_are_limited_by_the_capacity_of_the_machine(tmp_path, broker, jobs, lanes):
    asked, said = [], []

    class Lanes:
        def __init__(self, broker, lanes, *_, **__):
            asked.append(lanes)

        async def work(self, line):
            """Run no trial."""

    plan = make_plan([registry.scenario("produce/calm")], [REFERENCE], [broker], range(1, 41))
    store = RunStore.create(tmp_path, RunRecord("r", "now", plan, jobs, {}, []))
    clients = {REFERENCE: InstalledClient(REFERENCE, Launch((), {}))}
    campaign = Campaign(
        store,
        clients,
        jobs,
        lambda _: None,
        _ignored,
        said.append,
        machine=Machine(2, 23 * 2**30),
        pool=Lanes,
    )
    asyncio.run(campaign.run())

    assert asked == [lanes]
    assert said == ([f"this machine can run {lanes} trials at a time on {broker}"] if lanes < jobs else [])


def _ignored(_: TrialVerdict) -> None:
    """Show no progress."""
