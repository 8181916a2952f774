"""A command in a plan from another user runs only if it is allowed, and cannot use the name of a registered client."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.cli.main import call
from harness.model.errors import UsageError
from harness.model.run_files import RUN
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunRecord
from testkit.codes import has_error, raises_code

pytestmark = pytest.mark.long("starts the command for each plan")

LIVE = "local:4.3.1x1"
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def mine() -> bytes:
    """Return the record of a run with one trial, as JSON."""
    client = ClientRef("reference", registry.client("reference").default_version)
    plan = make_plan([registry.scenario("produce/calm")], [client], [LIVE], [3])
    return msgspec.json.encode(RunRecord("20260101-000000-aaaa", "", Plan(3, plan.trials[:1]), 1, {}, []))


class Foreign:
    """A run from another user, with a client that creates the file ``canary`` when it runs."""

    def __init__(self, folder: Path, plan: bytes) -> None:
        self.folder, self.canary = folder, folder.parent / "canary"
        self.record: dict[str, Any] = json.loads(plan)
        self.spec: dict[str, Any] = self.record["plan"]["trials"][0]
        self.trial = folder / "trials" / self.spec["trial"]

    def client(self, name: str, version: str) -> Foreign:
        self.spec["client"] = {"name": name, "version": version, "command": ["touch", str(self.canary)]}
        return self

    def write(self) -> Foreign:
        self.trial.mkdir(parents=True, exist_ok=True)
        (self.folder / RUN).write_text(json.dumps(self.record))
        (self.trial / "spec.json").write_text(json.dumps(self.spec))
        return self


@pytest.fixture
def foreign(tmp_path: Path, mine: bytes) -> Foreign:
    return Foreign(tmp_path / "20260101-000000-aaaa", mine)


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """Run a command line that must be refused without a defect, and return its stderr."""
    assert call([str(each) for each in argv]) == 2
    _, err = capsys.readouterr()
    assert "Traceback" not in err and "defect" not in err
    return err


COMMANDS: dict[str, Callable[[Foreign], list[object]]] = {
    "resume": lambda run: ["run", "--resume", run.folder],
    "rerun": lambda run: ["run", "--rerun-failed", run.folder],
    "replay": lambda run: ["replay", run.trial / "spec.json"],
    "replay-plan": lambda run: ["replay", run.folder.parent / "plan.json"],
    "shrink": lambda run: ["shrink", run.trial / "spec.json"],
}


@pytest.mark.parametrize("how", COMMANDS)
def test_command_in_a_plan_is_refused_unless_allowed(capsys, tmp_path, foreign, how):
    run = foreign.client("sneaky", "own").write()
    (tmp_path / "plan.json").write_text(json.dumps(run.record["plan"]))

    told = refused(capsys, *COMMANDS[how](run))

    assert has_error(told, "command-not-allowed", "sneaky@own", f"touch {run.canary}")
    assert has_error(told, "command-not-allowed")
    assert not run.canary.exists()


def test_command_in_a_plan_from_stdin_is_refused(capsys, monkeypatch, foreign):
    run = foreign.client("sneaky", "own").write()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(run.spec).encode())))

    assert has_error(refused(capsys, "replay", "-"), "command-not-allowed")
    assert not run.canary.exists()


def test_allowed_command_is_printed_before_it_runs():
    said: list[str] = []
    own, other = ClientRef("own", "own", ("./a b", "--x=$(id)")), ClientRef("reference", "0.1.0")

    own_commands.allow([own, other, own], True, said.append)

    assert said == ["own@own runs: './a b' '--x=$(id)'"]


@pytest.mark.parametrize("word", ["x" * 5_000, "\x1b" * 1_000])
def test_command_too_long_to_print_is_refused(word):
    """A long line is truncated in the middle, and the printed command would not be the one that runs."""
    said: list[str] = []
    with raises_code(UsageError, "command-too-long"):
        own_commands.allow([ClientRef("own", "own", ("true", word))], True, said.append)
    assert said == []


@pytest.mark.parametrize("how", [*COMMANDS, "judge", "report"])
@pytest.mark.parametrize(
    ("name", "version", "sentence"),
    [
        ("confluent-kafka", "2.16.1", "cannot have the name confluent-kafka"),
        ("sneaky", "2.16.1 \x1b", "a client that is a command cannot have the version"),
        ("confluent-kafka", "own", "cannot have the name confluent-kafka"),
        ("reference", "own", "cannot have the name reference"),
    ],
)
def test_command_cannot_have_the_name_of_a_registered_client(
    capsys, tmp_path, foreign, how, name, version, sentence
):
    run = foreign.client(name, version).write()
    (tmp_path / "plan.json").write_text(json.dumps(run.record["plan"]))
    others = {"judge": ["judge", run.folder], "report": ["report", run.folder]}
    argv = others[how] if how in others else [*COMMANDS[how](run), "--allow-command"]

    assert sentence in refused(capsys, *argv)
    assert not run.canary.exists()


def test_program_with_a_registered_name_is_renamed():
    assert str(own_commands.client(["/opt/java", "-jar", "mine.jar"])) == "own-java@own"
    with raises_code(UsageError, "command-under-registered-name", name="kafkajs"):
        own_commands.client(["node", "mine.js"], "kafkajs")


def set_to(place: str, value: object) -> Edit:
    def edit(spec: dict[str, Any]) -> None:
        *path, last = place.split(".")
        for part in path:
            spec = spec[part]
        spec[last] = value

    return edit


@pytest.mark.parametrize("how", ["resume", "rerun", "replay"])
@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (set_to("trial", "../../escaped"), "cannot be the name of a trial"),
        (set_to("trial", "-rf\n"), "cannot be the name of a trial"),
        (set_to("broker", "local:../../evilx1"), "unknown local cluster '../../evilx1'"),
        (set_to("broker", "remote:1"), "unknown broker 'remote'"),
        (set_to("scenario", "produce/clam"), "unknown scenario 'produce/clam'"),
        (set_to("client.name", "kafka"), "unknown client 'kafka'"),
        (set_to("client.version", "1.0 @ file:///tmp/evil"), "version"),
        (set_to("client.version", "-r/etc/passwd"), "version"),
        (set_to("workload.records", 10**12), "records of the workload"),
        (set_to("workload.interval_ms", -1), "interval_ms of the workload"),
        (set_to("config", {}), "lacks delivery.timeout.ms"),
        (set_to("config", {"delivery.timeout.ms": "1e9"}), "must be a whole number"),
        (set_to("faults", [{"kind": "rm", "start": {"on": "elapsed", "ms": 1}, "duration_ms": 1}]), "'rm'"),
    ],
)
def test_stored_plans_are_validated(capsys, tmp_path, foreign, how, edit, sentence):
    edit(foreign.spec)
    foreign.trial = foreign.folder / "trials" / "one"
    run = foreign.write()
    before = sorted(tmp_path.rglob("*"))

    told = refused(capsys, *COMMANDS[how](run), "--out-dir", tmp_path)

    assert sentence in told
    assert sorted(tmp_path.rglob("*")) == before
