"""The command line without a broker: bad input gives one error and the right exit code."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import IO

import pytest

from harness.cli import run_plan
from harness.cli.main import call
from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.spec import Plan
from harness.plugins import registry
from harness.storage.run_store import RunStore
from testkit.codes import has_error


def told(capsys) -> tuple[str, str]:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out, captured.err


@pytest.mark.parametrize(
    ("argv", "code", "sentence"),
    [
        (["run", "produce/clam"], 2, ("unknown-name", "'produce/clam'", "'produce/calm'")),
        (["run", "-c", "refrence"], 2, ("unknown-name", "'refrence'", "'reference'")),
        (["run", "-c", "zzz"], 2, ("unknown-name",)),
        (
            ["explain", "nonsense"],
            2,
            ("unknown-name",),
        ),
        (["run", "-c", "reference@"], 2, ("client-without-version", "'reference@'")),
        (["run", "-c", "reference@99.0", "--out-dir", "{tmp}"], 2, ("client-version-fixed", "99.0")),
        (["run", "-b", "lokal:4.3.1x1"], 2, ("unknown-name", "'lokal'", "'local'")),
        (["run", "-b", "local"], 2, ("broker-without-version", "'local'")),
        (["run", "-b", "local:1.2.3x1"], 2, ("unknown-name", "'1.2.3x1'")),
        (["run", "-b", "local:4.3.1x7"], 2, ("unknown-name", "'4.3.1x7'")),
        (["run", "-g", "idempotnet"], 2, ("unknown-name", "'idempotnet'", "'idempotent'")),
        (["run", "produce/*", "-g", "transactional"], 5, ("no-scenario",)),
        (["run", "--", "./no-such-adapter"], 2, ("program-missing", "./no-such-adapter")),
        (["run", "--seeds", "0"], 2, ("bad-parameter", "'--seeds'")),
        (["run", "--no-such-option"], 2, ("no-such-option",)),
        (["run", "--resume", "{tmp}/nothing"], 2, ("not-a-run",)),
        (["judge", "{tmp}"], 2, ("not-a-run", "run.json")),
        (["report", "{tmp}"], 2, ("not-a-run", "run.json")),
        (["explain", "dropped-response"], 2, ("unknown-name",)),
        (["list", "client"], 2, ("unknown-name", "'client'", "'clients'")),
        (["jugde"], 2, ("usage-error", "'jugde'")),
    ],
)
def test_bad_input_is_refused_with_its_code(capsys, tmp_path, argv, code, sentence):
    assert call([word.format(tmp=tmp_path) for word in argv]) == code
    out, err = told(capsys)
    assert out == ""
    assert has_error(err, *sentence)
    assert not (tmp_path / "latest").exists()


def test_a_missing_command_is_an_error_that_lists_the_commands(capsys):
    assert call(["baseline"]) == 2
    assert (
        told(capsys)[1] == "error[missing-command]: baseline lacks a command: one of update, prune, check\n"
    )
    assert call([]) == 2
    assert has_error(told(capsys)[1], "missing-command")


def test_an_unwritable_out_dir_is_an_error(capsys, tmp_path):
    (tmp_path / "out").write_text("a file where a folder should be")
    assert call(["run", "produce/calm", "--out-dir", str(tmp_path / "out")]) == 3
    assert has_error(told(capsys)[1], "cannot-write")


@pytest.mark.parametrize("what", ["clients", "brokers", "faults", "scenarios", "checks"])
def test_lists_are_arrays_of_named_objects(capsys, what):
    assert call(["list", what, "--json"]) == 0
    rows = json.loads(told(capsys)[0])
    assert rows and all(row["name"] and row["summary"] for row in rows)
    assert call(["list", what]) == 0


@pytest.mark.long("explains every part")
def test_everything_listed_can_be_explained(capsys):
    for what in ("clients", "brokers", "faults", "scenarios", "checks"):
        call(["list", what, "--json"])
        for row in json.loads(told(capsys)[0]):
            assert call(["explain", row["name"]]) == 0
            assert len(told(capsys)[0].splitlines()) >= 3, row["name"]


@pytest.mark.parametrize("kind", registry.table("faults").values(), ids=lambda kind: kind.name)
def test_every_fault_names_its_observers(kind):
    assert set(kind.seen_by) <= {"client", "witness", "broker"} and kind.seen_by


@pytest.mark.parametrize("name", ["throttle", "partition", "broker_kill"])
def test_explain_shows_modes_observers_and_parameters_of_a_fault(capsys, name):
    kind = registry.fault(name)
    assert call(["explain", name]) == 0
    lines = told(capsys)[0].splitlines()
    assert f"modes: {', '.join(sorted(kind.modes))}" in lines
    [seen] = [line for line in lines if line.startswith("seen by: ")]
    assert set(seen.removeprefix("seen by: ").split(", ")) <= {"client", "witness", "broker"}
    assert ("parameters: none" in lines) == (not kind.params)
    for param in kind.params:
        assert (
            f"  {param.name}: {param.low} to {param.high}, {param.default} if not given: {param.what}"
            in lines
        )


@pytest.mark.long("explains every part")
def test_every_requirement_of_a_scenario_can_be_explained(capsys):
    call(["list", "scenarios", "--json"])
    scenarios = json.loads(told(capsys)[0])
    for requirement in sorted({each for scenario in scenarios for each in scenario["exercises"]}):
        assert call(["explain", requirement]) == 0, requirement
        told(capsys)


def test_a_dry_run_prints_the_same_plan_again(capsys):
    plans = []
    for _ in range(2):
        assert call(["run", "produce/*", "--dry-run", "--json", "--seed", "7"]) == 0
        plans.append(json.loads(told(capsys)[0]))
    assert plans[0] == plans[1]
    assert len(plans[0]["trials"]) == 16


def test_a_client_command_is_planned(capsys):
    assert call(["run", "produce/calm", "--dry-run", "--json", "--", "/bin/sh", "--fast"]) == 0
    trials = json.loads(told(capsys)[0])["trials"]
    assert {tuple(trial["client"]["command"]) for trial in trials} == {("/bin/sh", "--fast")}


def test_the_schema_names_every_file(capsys):
    assert call(["schema"]) == 0
    document = json.loads(told(capsys)[0])
    assert {
        "trial.json",
        "history.jsonl",
        "frames.jsonl",
        "faults.jsonl",
        "log.jsonl",
        "verdict.json",
    } <= set(document["files"])


def _started(stdout: int | IO[bytes], **env: str) -> subprocess.Popen[bytes]:
    argv = [str(Path(sys.executable).with_name("kafka-trial")), "list", "checks", "--json"]
    # A background shell ignores SIGINT, and its children inherit that.
    return subprocess.Popen(
        argv,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=_enable_interrupts,
        env=os.environ | env,
    )


def _enable_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.long("starts the command in a process")
def test_a_closed_reader_ends_the_command_as_a_broken_pipe() -> None:
    started = _started(subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.close()
    assert b"Traceback" not in started.communicate()[1]
    assert started.returncode == 141


@pytest.mark.long("starts the command in a process")
def test_a_full_disk_is_an_error_for_json_output() -> None:
    with Path("/dev/full").open("wb") as full:
        started = _started(full)
        told = started.communicate()[1].decode()
    assert (started.returncode, told.count("\n")) == (3, 1) and os.strerror(errno.ENOSPC) in told


@pytest.mark.long("starts the command in a process")
@pytest.mark.parametrize(
    ("argv", "closed", "code", "told"),
    [
        (
            "list checks",
            ">&-",
            3,
            "error[cannot-write-stdout]: cannot write to stdout: Bad file descriptor\n",
        ),
        (
            "list checks --json",
            ">&-",
            3,
            "error[cannot-write-stdout]: cannot write to stdout: Bad file descriptor\n",
        ),
        (
            "explain pass",
            ">&-",
            3,
            "error[cannot-write-stdout]: cannot write to stdout: Bad file descriptor\n",
        ),
        ("list nothing", ">&- 2>&-", 2, ""),
        ("list nothing", "2>&-", 2, ""),
        ("replay -", "<&-", 2, "error[no-trial-there]: - contains no trial: Bad file descriptor\n"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_stream_is_an_error_without_traceback(argv, closed, code, told, unbuffered) -> None:
    script = f"exec {Path(sys.executable).with_name('kafka-trial')} {argv} {closed}"
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False)
    assert (ended.returncode, ended.stderr) == (code, told)


@pytest.mark.long("starts the command in a process")
def test_a_full_disk_is_an_error_for_text_output() -> None:
    argv = [str(Path(sys.executable).with_name("kafka-trial")), "list", "checks"]
    with Path("/dev/full").open("wb") as full:
        env = os.environ | {"PYTHONUNBUFFERED": "1"}
        ended = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, env=env, check=False)
    assert (ended.returncode, ended.stderr) == (
        3,
        "error[cannot-write-stdout]: cannot write to stdout: No space left on device\n",
    )


def test_an_interrupt_during_imports_shows_no_traceback() -> None:
    started = _started(subprocess.DEVNULL)
    started.send_signal(signal.SIGINT)
    told = started.communicate()[1]
    assert started.returncode in (130, -signal.SIGINT) and b"harness" not in told


#: A SIGINT that arrives in a finalizer during the imports, where Python only reports an exception and goes on.
FINALIZED = """
import os, signal, sys
from harness.cli import start

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000):
            pass

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "harness.cli.main":
            Dying()

sys.meta_path.insert(0, Finder())
sys.argv = ["kafka-trial", "list", "checks"]
start.main()
"""


@pytest.mark.long("starts the command in a process")
def test_an_interrupt_in_a_finalizer_during_imports_is_not_lost() -> None:
    ended = subprocess.run([sys.executable, "-c", FINALIZED], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("imported", [b"harness.cli.interrupts", b"harness.cli.main"])
def test_further_interrupts_during_start_up_change_neither_the_exit_code_nor_the_sentence(imported):
    with _started(subprocess.DEVNULL, PYTHONPROFILEIMPORTTIME="1") as started:
        assert started.stderr is not None
        first = next(line for line in started.stderr if line.rstrip().endswith(imported))
        while started.poll() is None:
            started.send_signal(signal.SIGINT)
        told = [line for line in started.stderr if not line.startswith(first[:12])]
    assert started.returncode == 130
    assert [line.partition(b";")[0].strip() for line in told] == [b"interrupted"]


@pytest.mark.parametrize(("more", "jobs"), [([], 3), (["-j", "5"], 5)])
def test_a_resumed_run_keeps_its_number_of_jobs(tmp_path, monkeypatch, more, jobs):
    RunStore.create(tmp_path, new_record(Plan(1, ()), Options(3)))
    went_on: list[Options] = []
    # The options are what matters here; to continue the run would start brokers.
    monkeypatch.setattr(run_plan, "go_on", lambda store, options: went_on.append(options) or 0)
    assert call(["run", "--resume", str(tmp_path), *more]) == 0
    assert [options.jobs for options in went_on] == [jobs]


def test_version_prints_the_version_of_the_distribution(capsys):
    assert call(["--version"]) == 0
    assert capsys.readouterr().out == f"kafka-trial {metadata.version('kafka-trial')}\n"
