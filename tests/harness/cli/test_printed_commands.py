"""Every command in the outputs of a run repeats exactly its trial: the plan of the real command line is the stored one.

The stored run has named and generated scenarios, chosen settings, own loads, own commands, several attempts,
environment variables and names that a shell would interpret. No part of it is started.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from harness import exports
from harness.cli.console import summary
from harness.cli.main import call
from harness.judging.failure_report import failure_text
from harness.judging.repeats import attempt_of
from harness.model.evidence import Evidence
from harness.model.rows import Ending, Finding, Phases, Reason, RequirementVerdict, TrialRecord, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.planning import campaign_file, own_commands, own_load, selection, typed_settings, user_settings
from harness.planning.campaign_file import SCENARIO
from harness.planning.plan import Axes, chosen_plan
from harness.storage.run_store import RunRecord, RunStore
from reports.pages.trial_page import reproduce

HOSTILE = "my runs 'a' `b`  | $(c) \"d\""
COMMAND = re.compile(r"kafka-trial (?:run|replay) .*")
CLIENTS = [ClientRef("reference", "0.1.0"), ClientRef("confluent-kafka", "2.3.0", env=("A_NAME", "B"))]
OWN = (["sh", "-c", "exec 'it' \"$0\"", "a b"], ["/bin/sh", "--name", "`x`;y"])
CAMPAIGN = """
    [configurations.slow]
    linger.ms = 77
    [generated.cuts]
    faults = [1, 3]
    kinds.disconnect = {}
"""


def planned(clients: list[ClientRef], *settings: str, load: str = "", scenario: str = "produce/calm") -> Plan:
    """Return the plan of a command line, without the part that runs it."""
    chosen = selection.loaded(selection.scenarios([scenario], []), own_load.parsed([load] if load else []))
    axes = Axes(chosen, clients, ["local:4.3.1x1"], user=user_settings.parsed(settings, clients))
    return chosen_plan(axes, [7])


def campaign(tmp_path: Path) -> Plan:
    """Return the plan of a campaign file with a configuration and a generated schedule."""
    (tmp_path / "file.toml").write_text(CAMPAIGN)
    file = campaign_file.load(tmp_path / "file.toml")
    [behind] = selection.scenarios([SCENARIO], [])
    brokers = ["local:4.3.1x1"]
    made = campaign_file.generated(file, behind, brokers)
    return chosen_plan(Axes([], CLIENTS[:1], brokers, made, campaign_file.configurations(file)), [3])


def plans(tmp_path: Path) -> Iterator[Plan]:
    own = [own_commands.client(words, name) for words, name in zip(OWN, (None, 'it\'s; "mine"'), strict=True)]
    own.append(msgspec.structs.replace(own[0], name="with env", env=("SOME NAME",)))
    yield planned(CLIENTS)
    yield planned(CLIENTS, "linger.ms=20", "retries=3")
    yield planned(CLIENTS[1:], "linger.ms=21", "confluent-kafka:queue.buffering.max.messages=1000")
    yield planned(CLIENTS[:1], load="records=500,size=20..2000,producers=2")
    yield planned(CLIENTS[:1], scenario="generated/network")
    yield planned(own)
    yield planned(own[:1], "linger.ms=20", scenario="network/reset")
    yield campaign(tmp_path)


def failing(spec: TrialSpec) -> TrialVerdict:
    """Return a failure of its own cause, so that every output names this trial."""
    found = Finding("lost", "1 acknowledged record not in the log", params={"of": spec.trial})
    requirement = RequirementVerdict("E2E-DEL-01", "MUST", "fail", (found,))
    verdict = TrialVerdict.of(spec, "fail", Reason("lost", {}, "lost: 1 record"))
    return msgspec.structs.replace(verdict, requirements=(requirement,))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return a run of all these trials, whose folder is relative to the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("A_NAME", "B", "SOME NAME"):
        monkeypatch.setenv(name, "value")
    specs = [spec for plan in plans(tmp_path) for spec in plan.trials]
    specs = list({spec.trial: spec for spec in (*specs, *(attempt_of(spec, 2) for spec in specs))}.values())
    record = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, tuple(specs)), 1, {}, ["kafka-trial", "run"])
    store = RunStore.create(Path(HOSTILE), record)
    for number, spec in enumerate(specs):
        store.begin(spec.trial)
        row = TrialRecord(spec, "run-1", f"run-1-{number}", 1, Phases(), Ending.COMPLETE)
        store.write_evidence(Evidence(row, (), (), (), ()))
        store.write_verdict(failing(spec))
    # As in another process, no command has been typed.
    monkeypatch.setattr(typed_settings, "_commands", {})
    return store


def in_terminal(store: RunStore, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    summary(store.verdicts(), store.folder)
    for line in capsys.readouterr().err.splitlines():
        yield from COMMAND.findall(line)


def in_exports(store: RunStore, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    exports.write(store, list(store.verdicts()))
    for each in json.loads((store.folder / exports.FINDINGS).read_text())["findings"]:
        yield each["replay"]
    root = ET.fromstring((store.folder / exports.JUNIT).read_text())
    for each in root.iter("property"):
        if each.get("name") == "replay":
            yield each.get("value") or ""
    for element in root.iter():
        yield from COMMAND.findall(element.text or "")
    for fence, span in re.findall(
        r"(?<!`)(`+)(?!`)\s?(.*?)\s?\1(?!`)", (store.folder / exports.SUMMARY).read_text()
    ):
        assert fence
        yield from (each for each in COMMAND.findall(span) if "..." not in each)


def in_pages(store: RunStore, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    for spec in store.record.plan.trials:
        yield reproduce(spec, store.trial_folder(spec.trial))


def in_pytest(store: RunStore, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    for verdict in store.verdicts():
        evidence = store.read_evidence(verdict.trial)
        told = failure_text(verdict, evidence, store.trial_folder(verdict.trial))
        yield COMMAND.findall(told.splitlines()[-1])[0]


PLACES = {"terminal": in_terminal, "exports": in_exports, "pages": in_pages, "pytest": in_pytest}


def replanned(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, bytes]:
    """Return the trial of a printed command, and its spec, as the command line plans it."""
    program, *argv = shlex.split(command)
    assert program == "kafka-trial"
    assert call([*argv, "--dry-run", "--json"]) == 0, (command, capsys.readouterr().err)
    [spec] = json.loads(capsys.readouterr().out)["trials"]
    return spec["trial"], msgspec.json.encode(msgspec.convert(spec, TrialSpec))


@pytest.mark.parametrize("place", PLACES)
def test_every_printed_command_gives_exactly_the_stored_trial(
    store: RunStore, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = list(dict.fromkeys(PLACES[place](store, capsys)))
    found = dict(replanned(command, capsys) for command in commands)
    stored = {
        spec.trial: msgspec.json.encode(store.trial_record(spec.trial).spec)
        for spec in store.record.plan.trials
    }
    shown = {name: spec for name, spec in stored.items() if place != "terminal" or name in found}
    assert found == shown and len(found) >= 20


def test_a_trial_of_names_has_a_run_line_and_every_other_one_a_replay(store: RunStore) -> None:
    lines = {spec.trial: reproduce(spec, store.trial_folder(spec.trial)) for spec in store.record.plan.trials}
    runs = [line for line in lines.values() if line.startswith("kafka-trial run ")]
    assert any("-X linger.ms=20" in line for line in runs) and any("--client-env B" in line for line in runs)
    for spec in store.record.plan.trials:
        if spec.attempt > 1 or spec.client.command or spec.workload.load or spec.variant.startswith("cuts"):
            assert lines[spec.trial].startswith("kafka-trial replay "), spec.trial
        assert ("--allow-command" in lines[spec.trial]) == bool(spec.client.command)
