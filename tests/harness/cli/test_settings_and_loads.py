"""Settings and loads of the user, on every command that runs trials: each trial has exactly these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import run_plan
from harness.cli.commands import bisect
from harness.cli.main import call
from harness.model.errors import UsageError
from harness.model.verdicts import Level
from harness.storage.run_store import RunStore

GIVEN = ["-X", "linger.ms=21", "-X", "retries=7", "--load", "records=300,size=80..90", "--load", "rate=100"]
MUTANT = "mutant-gives_up_on_disconnect"


def check(trials):
    """Assert that each of these trials, as JSON, has the given settings and the given load."""
    assert trials
    for spec in trials:
        assert (spec["config"]["linger.ms"], spec["config"]["retries"]) == (21, 7)
        assert spec["workload"]["records"] == 300 and spec["workload"]["load"]["rate"] == 100
        assert {"linger.ms=21", "retries=7"} <= set(spec["variant"].split("+")[-1].split(","))


def stored(folder: Path):
    return [json.loads(path.read_text())["spec"] for path in folder.glob("trials/*/trial.json")]


def test_run_and_campaign_plan_them(capsys, tmp_path):
    (tmp_path / "c.toml").write_text('clients = ["java"]\nscenarios = ["produce/calm"]\n')
    for argv in (["run", "produce/calm", "-c", "java"], ["campaign", str(tmp_path / "c.toml")]):
        assert call([*argv, *GIVEN, "--dry-run", "--json"]) == 0
        check(json.loads(capsys.readouterr().out)["trials"])


@pytest.mark.parametrize("scenario", ["produce/calm", "generated/network"])
def test_simulate_runs_with_them(capsys, tmp_path, scenario):
    out = str(tmp_path / "runs")
    argv = ["simulate", scenario, "--trials", "2", "--keep", "all", "--out-dir", out, "--json"]
    assert call([*argv, *GIVEN]) in (0, 4)
    check(stored(Path(json.loads(capsys.readouterr().out)["run"])))


@pytest.mark.long("shrinks simulated trials")
def test_shrink_runs_with_them(capsys, tmp_path):
    argv = ["run", "produce/dropped-response", "-c", MUTANT, "-g", "at-least-once", "--dry-run", "--json"]
    assert call(argv) == 0
    [spec] = json.loads(capsys.readouterr().out)["trials"]
    (tmp_path / "spec.json").write_text(json.dumps(spec | {"broker": "scripted:4.3.1x1"}))
    out = ["--out-dir", str(tmp_path / "runs"), "--json", "--attempts", "1"]
    assert call(["shrink", str(tmp_path / "spec.json"), *out, *GIVEN]) in (0, 4)
    store = RunStore.open(Path(json.loads(capsys.readouterr().out)["run"]))
    first = store.record.plan.trials[0]
    assert (first.config["linger.ms"], first.config["retries"]) == (21, 7)
    assert (first.workload.records, first.workload.shape.rate) == (300, 100)


class Stop(UsageError):
    """Ends a command before it starts brokers."""


def test_bisect_plans_them_for_every_version(monkeypatch, capsys):
    planned = []

    def stopped(client, versions, trials_of, *_):
        planned.extend(trial for version in versions for trial in trials_of(version, 2))
        raise Stop("stop", "stop")

    monkeypatch.setattr(bisect, "install", lambda clients: {})
    monkeypatch.setattr(bisect, "_versions", lambda client, good, bad: ([good, bad], False))
    monkeypatch.setattr(bisect, "Bisection", stopped)
    assert call(["bisect", "java", "3.9.2", "4.3.1", "produce/calm", *GIVEN]) == 2
    assert {str(trial.client) for trial in planned} == {"java@3.9.2", "java@4.3.1"}
    for trial in planned:
        assert (trial.config["linger.ms"], trial.workload.records) == (21, 300)


@pytest.mark.parametrize(("typed", "level"), [([], Level.SHOULD), (["--level", "must"], Level.MUST)])
def test_run_and_campaign_judge_at_the_level_that_was_typed(monkeypatch, tmp_path, typed, level):
    (tmp_path / "c.toml").write_text('clients = ["java"]\nscenarios = ["produce/calm"]\n')
    records = []
    monkeypatch.setattr(
        run_plan, "start", lambda plan, options, *_: records.append(run_plan.new_record(plan, options)) or 0
    )
    for argv in (["run", "produce/calm", "-c", "java"], ["campaign", str(tmp_path / "c.toml")]):
        assert call([*argv, *typed]) == 0
    assert [record.level for record in records] == [level, level]
