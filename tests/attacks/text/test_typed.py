"""A secret on the command line reaches the client, and no file and no page."""

from __future__ import annotations

import json
import sys

import msgspec
import pytest

from harness.cli.main import call
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import Mode
from harness.model.rows import Ending, Phases, TrialRecord
from harness.model.run_files import RUN, TRIAL
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning import typed_settings, validate_plan
from harness.planning.selection import clients
from harness.running.install import installed
from harness.storage.run_store import RunRecord, RunStore
from harness.text.redaction import MARK
from testkit.codes import has_error, raises_code

SECRET = "hunter2-of-ours"
ARGV = (sys.executable, "-c", "pass", "--password", SECRET, "--url", f"http://u:{SECRET}@h/")
STORED = (sys.executable, "-c", "pass", "--password", MARK, "--url", f"http://{MARK}@h/")


def spec_of(client: ClientRef, broker: str = "local:4.3.1x1", **config: str) -> TrialSpec:
    settings = {"acks": "all", "linger.ms": 5, "delivery.timeout.ms": 30_000, "request.timeout.ms": 3_000}
    settings |= {"max.block.ms": 1_000, "reconnect.backoff.max.ms": 1_000, **config}
    return TrialSpec("t", client, broker, "produce/calm", Guarantee.IDEMPOTENT, 1, Workload(), (), settings)


def run_of(tmp_path, *specs: TrialSpec) -> RunStore:
    return RunStore.create(tmp_path, RunRecord("r", "now", Plan(1, specs), 1, {}, ["kafka-trial"]))


def test_plan_is_redacted_and_client_gets_the_secret():
    [ref] = clients((), ARGV)
    assert ref.command == STORED
    assert installed(ref).launch.argv == ARGV


def test_command_without_secrets_is_unchanged():
    argv = (sys.executable, "-p", "9092", "--topic", "t")
    [ref] = clients((), argv)
    typed_settings.forget()
    assert ref.command == argv and installed(ref).launch.argv == argv


def test_dry_run_shows_no_secret(capsys):
    assert call(["run", "produce/calm", "--dry-run", "--json", "--", *ARGV]) == 0
    out, err = capsys.readouterr()
    assert SECRET not in out + err
    assert json.loads(out)["trials"][0]["client"]["command"] == list(STORED)


def test_stored_command_line_is_redacted(tmp_path, monkeypatch):
    from harness.cli.options import Options
    from harness.cli.run_plan import new_record

    monkeypatch.setattr(sys, "argv", ["kafka-trial", "run", "x\udcff", "--", *ARGV])
    store = RunStore.create(tmp_path, new_record(Plan(1, ()), Options(1)))
    assert SECRET not in (store.folder / RUN).read_text()
    assert store.record.command == ["kafka-trial", "run", r"x\udcff", "--", *STORED]


@pytest.mark.parametrize(
    "argv",
    [
        ["replay", "{}/trials/t"],
        ["run", "--resume", "{}"],
        ["run", "--rerun-failed", "{}"],
        ["shrink", "{}/trials/t"],
    ],
)
def test_redacted_plan_is_refused_without_the_command(argv, tmp_path, capsys):
    [ref] = clients((), ARGV)
    store = run_of(tmp_path, spec_of(ref))
    record = TrialRecord(spec_of(ref), "r", "t", 0, Phases(), Ending.HARNESS_ERROR, "x", "x")
    store.write_evidence(Evidence(record, (), (), (), ()))
    typed_settings.forget()
    named = [each.format(store.folder) for each in argv]

    assert call([*named, "--out-dir", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert has_error(err, "command-stored-redacted", "http://[redacted]@h/")
    assert has_error(err, "command-stored-redacted") and SECRET not in err
    assert not (tmp_path / "out").exists()

    other = [
        *named,
        "--out-dir",
        str(tmp_path / "out"),
        "--",
        sys.executable,
        "-c",
        "other",
        "--password",
        SECRET,
    ]
    assert call(other) == 2
    assert has_error(capsys.readouterr().err, "command-differs-from-plan")


def test_command_given_again_is_used(tmp_path):
    [ref] = clients((), ARGV)
    store = run_of(tmp_path, spec_of(ref))
    typed_settings.forget()
    plan = store.record.plan
    typed_settings.again(ARGV, plan)
    assert installed(plan.trials[0].client).launch.argv == ARGV


def test_commands_that_differ_only_in_secrets_are_refused():
    clients((), ARGV)
    with raises_code(UsageError, "commands-differ-in-secrets") as refused:
        clients((), [*ARGV[:4], "another-of-ours", *ARGV[5:]])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("word", [MARK, f"--password={MARK}", "\udcff"])
def test_redaction_mark_and_invalid_text_are_refused(word):
    with pytest.raises(UsageError):
        clients((), [sys.executable, word])


def test_settings_are_stored_redacted_and_used_unredacted(tmp_path):
    spec = spec_of(
        ClientRef("reference", "0.1.0"), **{"sasl.jaas.config": SECRET, "x.url": f"a://u:{SECRET}@h"}
    )
    store = run_of(tmp_path, spec)
    store.replace_plan(Plan(1, (spec,)))
    store.write_evidence(Evidence(TrialRecord(spec, "r", "t", 0, Phases(), Ending.COMPLETE), (), (), (), ()))

    for path in (store.folder / RUN, store.trial_folder("t") / TRIAL):
        assert SECRET not in path.read_text()
    [read] = store.record.plan.trials
    assert read.config == spec.config | {"sasl.jaas.config": MARK, "x.url": f"a://{MARK}@h"}
    assert typed_settings.settings(read.config) == spec.config


def test_redacted_setting_is_refused(tmp_path, capsys):
    spec = spec_of(ClientRef("reference", "0.1.0"), "scripted:4.3.1x1", **{"sasl.password": MARK})
    with raises_code(UsageError, "setting-stored-redacted", name="sasl.password"):
        validate_plan.check(Plan(1, (spec,)), Mode.SIMULATED)
    path = tmp_path / "spec.json"
    path.write_bytes(msgspec.json.encode(spec))
    assert call(["replay", str(path), "--out-dir", str(tmp_path / "out")]) == 2
    assert has_error(capsys.readouterr().err, "setting-stored-redacted", "sasl.password")
    assert not (tmp_path / "out").exists()


def test_simulated_client_does_not_print_its_secret_setting(tmp_path, capsys, files_with):
    """The client refuses the unknown setting and does not quote its value."""
    spec = spec_of(ClientRef("reference", "0.1.0"), "scripted:4.3.1x1", **{"sasl.password": SECRET})
    path = tmp_path / "spec.json"
    path.write_bytes(msgspec.json.encode(spec))
    call(["replay", str(path), "--out-dir", str(tmp_path / "out"), "--json"])
    out, err = capsys.readouterr()
    assert SECRET not in out + err
    assert files_with(tmp_path / "out", SECRET) == []


def test_value_of_a_passed_variable_is_redacted(monkeypatch):
    from harness.adapter import environment
    from harness.text import redaction

    monkeypatch.setenv("MY_TOKEN", SECRET)
    monkeypatch.setenv("MY_TOPIC", "a-topic-name")
    environment.named(["MY_TOKEN", "MY_TOPIC"])
    assert redaction.text(f"{SECRET} of a-topic-name") == f"{MARK} of a-topic-name"
