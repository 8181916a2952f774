"""Brokers that end repeatedly cost no finished trial: it is in all exports, and a client that ends them is left out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from harness.cli import run_plan
from harness.cli.commands import replay
from harness.cli.main import call
from harness.model.rows import Ending, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.campaign import Campaign
from harness.running.lane_pool import MAX_CLUSTERS, Pool
from harness.running.trial_runner import Execution
from harness.simulated.trial import SimulatedTrial
from harness.storage.run_store import RunStore
from testkit.codes import has_error

pytestmark = pytest.mark.long("simulates, judges and exports a run for each test")

HONEST = ClientRef("reference", registry.client("reference").default_version)
HOSTILE = ClientRef("hostile", "own", ("./hostile",))
LOCAL = "local:4.3.1x1"
PASSED = (str(HONEST), "pass", "held")
EXPORTS = ("results.jsonl", "junit.xml", "summary.md", "findings.json", "outcomes.json")


class Clusters:
    """Clusters and lanes without processes. The pool that uses them is the real one."""

    def __init__(self) -> None:
        self.started = 0
        self._real = registry.broker("local")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @asynccontextmanager
    async def cluster(self, broker_id: str, lanes: int, logs: Path) -> AsyncIterator[Any]:
        self.started += 1
        one = SimpleNamespace(dead=None, died=lambda: one.dead, is_shared="alone-" not in str(logs))
        yield one

    @asynccontextmanager
    async def server(self, folder: Path) -> AsyncIterator[Any]:
        async def alive() -> bool:
            return True

        yield SimpleNamespace(alive=alive)

    @asynccontextmanager
    async def open_lane(self, *_: object) -> AsyncIterator[Any]:
        async def empty() -> None:
            pass

        yield SimpleNamespace(empty=empty)


class Played(Execution):
    """Simulates honest trials. In a hostile trial the broker ends."""

    def ends_broker(self, cluster: Any) -> bool:
        return True

    async def run(self, index: int, spec: TrialSpec, cluster: Any, lane: Any) -> TrialVerdict:
        self.store.begin(spec.trial)
        if spec.client == HOSTILE:
            if self.ends_broker(cluster):
                cluster.dead = "killed"
            code = "broker-died" if cluster.dead else "client-gave-up"
            return self.left_out(index, spec, "...", Ending.HARNESS_ERROR, code)
        scripted = msgspec.structs.replace(spec, broker="scripted:4.3.1x1")
        evidence = SimulatedTrial(scripted, self.store.record.run_id).run()
        record = msgspec.structs.replace(evidence.record, spec=spec)
        return self.conclude(replace(evidence, record=record))


class PlayedInCompany(Played):
    """As above, but the broker ends only if other trials may run on it, so that no client is found to be the cause."""

    def ends_broker(self, cluster: Any) -> bool:
        return bool(cluster.is_shared)


Run = Callable[..., SimpleNamespace]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return ``run(execution, *clients)``, which runs a trial of each client in turn with a user's command."""

    def carry_out(execution: type[Played], *clients: ClientRef) -> SimpleNamespace:
        calm, world, file = registry.scenario("produce/calm"), Clusters(), tmp_path / "plan.json"
        trials = (
            make_plan([calm], [each], [LOCAL], [seed]).trials[0] for seed, each in enumerate(clients, 1)
        )
        file.write_bytes(msgspec.json.encode(Plan(1, tuple(trials))))
        pool = partial(Pool, open_lane=world.open_lane)
        # No option replaces what starts processes. The pool, the campaign and the exports are the real ones.
        monkeypatch.setattr(run_plan, "Campaign", partial(Campaign, pool=pool, execution=execution))
        monkeypatch.setattr(replay, "install", lambda refs, _: dict.fromkeys(refs, object()))
        argv = ["replay", str(file), "--allow-command", "-j", "1", "--out-dir", str(tmp_path)]
        replaced = registry.replaced
        with replaced("brokers", {"local": world}), replaced("proxies", {"toxiproxy": world}):
            code = call(argv)
        store = RunStore.open(tmp_path)
        verdicts = [(each.client, each.verdict, each.code) for each in store.verdicts()]
        err = capsys.readouterr().err
        return SimpleNamespace(code=code, store=store, verdicts=verdicts, started=world.started, err=err)

    return carry_out


def assert_exported(store: RunStore, trials: int) -> None:
    """Assert that all exports exist, with this number of trials."""
    texts = {name: (store.folder / name).read_text() for name in EXPORTS}
    assert len({json.loads(line)["trial"] for line in texts["results.jsonl"].splitlines()}) == trials
    assert len(ET.fromstring(texts["junit.xml"]).findall(".//testcase")) == trials
    json.loads(texts["findings.json"])
    assert str(HONEST) in texts["outcomes.json"]
    assert str(HOSTILE) in texts["summary.md"]


def is_left_out(err: str) -> bool:
    return any(line.startswith(f"{HOSTILE} is left out") for line in err.splitlines())


def test_client_that_ends_brokers_is_left_out_and_all_other_trials_are_exported(run):
    seen = run(Played, HONEST, *[HOSTILE] * MAX_CLUSTERS, HONEST)

    codes = ["broker-died", "ends-brokers", "ends-brokers"]
    assert seen.verdicts == [PASSED, *[(str(HOSTILE), "harness-error", code) for code in codes], PASSED]
    assert seen.code == 3 and seen.started == MAX_CLUSTERS
    assert is_left_out(seen.err)
    assert_exported(seen.store, len(seen.verdicts))


def test_finished_trials_are_exported_if_brokers_end_without_a_known_cause(run):
    seen = run(PlayedInCompany, HONEST, *[HOSTILE] * MAX_CLUSTERS, HONEST)

    gave_up = (str(HOSTILE), "harness-error", "client-gave-up")
    assert seen.verdicts == [PASSED, *[gave_up] * MAX_CLUSTERS]
    assert seen.code == 3 and has_error(seen.err, "clusters-died", MAX_CLUSTERS, LOCAL)
    assert not is_left_out(seen.err)
    assert_exported(seen.store, len(seen.verdicts))
