"""``simulate`` and ``replay``: their files, their output and their exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.cli.main import call
from harness.storage.run_store import RunStore
from testkit.codes import has_error


def simulate(tmp_path: Path, *more: str) -> int:
    return call(["simulate", "--out-dir", str(tmp_path), "--quiet", *more])


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_reference_client_passes_and_leaves_no_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, "--trials", "12", "--json") == 0
    told = document(capsys)
    assert told["trials"] == 12 and told["counts"] == {"pass": 12} and told["verdicts"] == []
    assert told["virtual_over_real"] > 1
    store = RunStore.open(tmp_path)
    assert store.record.stop_reason == "completed" and not store.record.plan.trials


@pytest.mark.long("many simulated trials, in several processes")
def test_failed_trial_of_a_mutant_can_be_judged_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant = "mutant-corrupts_on_retry"
    assert simulate(tmp_path, "-c", mutant, "-g", "at-least-once", "--trials", "25", "--json") == 1
    told = document(capsys)
    assert told["counts"]["fail"] > 0
    kept = [verdict for verdict in told["verdicts"] if verdict["verdict"] == "fail"]
    assert len(kept) == told["counts"]["fail"]
    run = Path(told["run"])
    assert call(["judge", str(run), "--json"]) == 1
    assert [verdict["trial"] for verdict in document(capsys)["verdicts"]] == [
        v["trial"] for v in told["verdicts"]
    ]
    folder = run / "trials" / kept[0]["trial"]
    assert (folder / "trace.jsonl.zst").exists()
    assert call(["replay", str(folder), "--out-dir", str(tmp_path / "again"), "--json"]) == 1
    [again] = document(capsys)["verdicts"]
    assert again["reason"] == kept[0]["reason"]
    replayed = RunStore.open(tmp_path / "again").trial_folder(kept[0]["trial"])
    rows = (f"{name}.jsonl.zst" for name in ("history", "frames", "faults", "log", "trace"))
    for name in (*rows, "trial.json"):
        assert (replayed / name).read_bytes() == (folder / name).read_bytes(), name


def test_plan_from_a_file_is_replayed_on_another_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "generated/network", "-c", "reference", "-g", "idempotent", "--dry-run", "--json"]
    assert call(argv) == 0
    plan = tmp_path / "plan.json"
    plan.write_text(capsys.readouterr().out)
    out = ("--out-dir", str(tmp_path / "runs"))
    assert call(["replay", str(plan), "-b", "scripted:4.3.1x2", "--json", *out]) == 0
    [verdict] = document(capsys)["verdicts"]
    assert verdict["broker"] == "scripted:4.3.1x2" and verdict["verdict"] == "pass"


@pytest.mark.long("many simulated trials, in several processes")
def test_several_processes_give_the_same_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for jobs in ("1", "2"):
        assert simulate(tmp_path / jobs, "--trials", "60", "--keep", "all", "-j", jobs, "--json") == 0
        verdicts = document(capsys)["verdicts"]
        results.append(sorted(verdicts, key=lambda verdict: str(verdict["trial"])))
    assert results[0] == results[1] and len(results[0]) == 60


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["simulate", "-c", "confluent-kafka"], ("client-not-simulated",)),
        (["simulate", "--scenario", "generated/anyy"], ("unknown-name",)),
        (["simulate", "-b", "local:4.3.1x1"], ("broker-not-simulated", "'local:4.3.1x1'")),
        (["run", "generated/any"], ("scenario-not-in-mode",)),
        (["replay", "nowhere.json"], ("no-trial-there",)),
    ],
)
def test_invalid_option_is_a_usage_error(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call([*argv, "--out-dir", str(tmp_path)]) == 2
    assert has_error(capsys.readouterr().err, *said)
    assert not list(tmp_path.iterdir())


def test_fault_missing_in_a_world_cannot_be_replayed_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, "--trials", "1", "--seed", "4", "--keep", "all", "--json") == 0
    [verdict] = document(capsys)["verdicts"]
    folder = RunStore.open(tmp_path).trial_folder(verdict["trial"])
    spec = json.loads((folder / "trial.json").read_text())["spec"]
    spec["faults"] = [{"kind": "broker_restart", "start": {"on": "elapsed", "ms": 5}, "duration_ms": 5}]
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert call(["replay", str(tmp_path / "spec.json"), "-b", "scripted:4.3.1x1"]) == 2
    assert "broker_restart" in capsys.readouterr().err


@pytest.mark.long("many simulated trials, in several processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_all_processes_in_order(tmp_path: Path, number: signal.Signals) -> None:
    started = started_simulation(tmp_path)
    family = psutil.Process(started.pid).children(recursive=True)
    os.killpg(started.pid, number)
    assert "Traceback" not in started.communicate()[1]
    assert started.returncode == 128 + number
    assert RunStore.open(tmp_path).record.stop_reason == "interrupted"
    assert not psutil.wait_procs(family, timeout=30)[1]


@pytest.mark.long("many simulated trials, in several processes")
def test_no_process_outlives_a_killed_simulation(tmp_path: Path) -> None:
    started = started_simulation(tmp_path)
    family = psutil.Process(started.pid).children(recursive=True)
    assert len(family) >= 2
    started.kill()
    started.communicate()
    gone, alive = psutil.wait_procs(family, timeout=30)
    assert gone and not alive


def started_simulation(out_dir: Path) -> subprocess.Popen[str]:
    """Start two processes with more work than any test waits for, and return once the first trial is complete."""
    argv = [str(Path(sys.executable).with_name("kafka-trial")), "simulate", "-j", "2", "--keep", "all"]
    argv += ["--trials", "1000000", "--out-dir", str(out_dir)]
    # A separate group. Background processes have SIGINT ignored, and their children inherit that.
    started = subprocess.Popen(
        argv,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert started.stderr is not None
    for line in started.stderr:
        if line.startswith("["):  # the first progress output
            return started
    raise AssertionError("it ended by itself")


@pytest.mark.long("many simulated trials, in several processes")
def test_only_the_same_trials_have_the_same_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def digest(*argv: str) -> str:
        assert simulate(tmp_path, "generated/group", "--digest", "--json", *argv) == 0
        return str(document(capsys)["digest"])

    once = digest("--seed", "31", "--trials", "4")
    assert digest("--seed", "31", "--trials", "4", "-j", "2", "--keep", "all") == once
    assert once not in {digest("--seed", "31", "--trials", "3"), digest("--seed", "32", "--trials", "4")}
