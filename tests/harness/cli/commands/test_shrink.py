"""``shrink`` in virtual time: its output, its files and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call
from harness.model.run_files import TRIAL
from harness.storage.run_store import RunStore
from testkit.codes import has_error

MUTANT = "mutant-gives_up_on_disconnect"


def spec(client: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Write and return a trial with ``count`` faults: the middle one drops answers, the others only add latency."""
    argv = ["run", "produce/dropped-response", "-c", client, "-g", "at-least-once", "--dry-run", "--json"]
    assert call(argv) == 0
    [made] = json.loads(capsys.readouterr().out)["trials"]
    slow = {"kind": "latency", "duration_ms": 100, "params": {"upstream_ms": 20}}
    faults = [slow | {"start": {"on": "elapsed", "ms": 100 + 50 * at}} for at in range(count)]
    faults[count // 2] |= {"kind": "dropped_response", "duration_ms": 900, "params": {}}
    load = {"records": 300, "records_per_command": 20, "interval_ms": 120}
    made |= {"broker": "scripted:4.3.1x1", "faults": faults, "trial": "a-dozen", "workload": load}
    (tmp_path / "spec.json").write_text(json.dumps(made))
    return made


def shrink(tmp_path: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any, str]:
    words = ["shrink", "--out-dir", str(tmp_path / "runs"), "--json", *argv]
    code = call(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, json.loads(out) if out else None, err


@pytest.mark.long("shrinks simulated trials")
def test_twelve_faults_are_shrunk_to_the_culprit(tmp_path: Path, capsys) -> None:
    spec(MUTANT, 12, tmp_path, capsys)
    code, document, err = shrink(tmp_path, capsys, str(tmp_path / "spec.json"))
    assert code == 0 and document["complete"]
    assert (document["anomaly"], document["attempts"]) == ("gave-up", 1)
    assert document["original"] == {"faults": 12, "failed": 1, "tried": 1}
    minimal = document["minimal"]
    assert minimal["faults"] == 1 and minimal["one_minimal"]
    assert [fault["kind"] for fault in minimal["spec"]["faults"]] == ["dropped_response"]
    assert minimal["spec"]["workload"]["records"] < 300
    assert re.search(rf"\b12\b.*\b1\b.*\b{document['trials']}\b.*\b{document['rounds']}\b", err)
    assert re.search(r"(?m)^1-minimal: .*\b1 attempt$", err)
    assert f"replay: kafka-trial replay {minimal['file']}" in err
    store = RunStore.open(tmp_path / "runs")
    assert store.record.stop_reason == "completed"
    assert len(list(store.verdicts())) == document["trials"]
    assert call(["replay", minimal["file"], "--out-dir", str(tmp_path / "again")]) == 1


@pytest.mark.long("shrinks simulated trials")
def test_a_minimal_trial_is_unchanged(tmp_path: Path, capsys) -> None:
    spec(MUTANT, 3, tmp_path, capsys)
    _, document, _ = shrink(tmp_path, capsys, str(tmp_path / "spec.json"))
    code, again, _ = shrink(tmp_path, capsys, document["minimal"]["file"])
    assert code == 0 and again["minimal"]["spec"] == document["minimal"]["spec"]


@pytest.mark.long("shrinks simulated trials")
def test_a_trial_is_found_by_its_id(tmp_path: Path, capsys) -> None:
    spec(MUTANT, 2, tmp_path, capsys)
    out = ["--out-dir", str(tmp_path / "runs")]
    assert call(["replay", str(tmp_path / "spec.json"), *out]) == 1
    code, _, err = shrink(tmp_path, capsys, "a-dozen", "--anomaly", "gave-upp")
    assert code == 2 and has_error(err, "unknown-name", "'gave-upp'", "'gave-up'")
    assert shrink(tmp_path, capsys, "a-dozen", "--anomaly", "gave-up")[0] == 0


def test_a_failure_that_does_not_recur_is_inconclusive(tmp_path: Path, capsys) -> None:
    spec("reference", 2, tmp_path, capsys)
    code, document, err = shrink(tmp_path, capsys, str(tmp_path / "spec.json"))
    assert code == 4 and document["minimal"] is None and document["anomaly"] is None
    assert document["original"] == {"faults": 2, "failed": 0, "tried": 1}
    assert "1 attempt" in err
    assert not list((tmp_path / "runs").glob("*/minimal.json"))


def test_another_anomaly_is_not_the_requested_one(tmp_path: Path, capsys) -> None:
    spec(MUTANT, 2, tmp_path, capsys)
    code, document, err = shrink(tmp_path, capsys, str(tmp_path / "spec.json"), "--anomaly", "lost")
    assert code == 4 and document["minimal"] is None
    assert re.search(r"\bgave-up\b.*--anomaly\b", err)


def test_a_trial_that_did_not_fail_is_refused(tmp_path: Path, capsys) -> None:
    spec("reference", 1, tmp_path, capsys)
    call(["replay", str(tmp_path / "spec.json"), "--out-dir", str(tmp_path / "runs")])
    code, document, err = shrink(tmp_path, capsys, "a-dozen")
    assert code == 2 and document is None
    assert has_error(err, "trial-did-not-fail")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["-b", "scripted:0.0x1"], ("unknown-name", "'0.0'")),
        (["--attempts", "0"], ("bad-parameter", "'--attempts'")),
        (["--max-time", "5"], ("not-a-duration", "'5'")),
    ],
)
def test_invalid_options_are_usage_errors(tmp_path: Path, capsys, argv: list[str], sentence: str) -> None:
    spec(MUTANT, 1, tmp_path, capsys)
    code, _, err = shrink(tmp_path, capsys, str(tmp_path / "spec.json"), *argv)
    assert code == 2 and has_error(err, *sentence)
    assert not (tmp_path / "runs").exists()


def test_a_plan_of_two_trials_is_refused(tmp_path: Path, capsys) -> None:
    made = spec(MUTANT, 1, tmp_path, capsys)
    (tmp_path / "plan.json").write_text(json.dumps({"seed": 1, "trials": [made, made | {"trial": "other"}]}))
    code, _, err = shrink(tmp_path, capsys, str(tmp_path / "plan.json"))
    assert code == 2 and has_error(err, "not-one-trial")


def test_a_search_out_of_time_claims_no_minimum(tmp_path: Path, capsys) -> None:
    spec(MUTANT, 12, tmp_path, capsys)
    code, document, err = shrink(tmp_path, capsys, str(tmp_path / "spec.json"), "--max-time", "0s")
    assert code == 4 and not document["complete"] and "1-minimal" not in err


@pytest.mark.long("shrinks simulated trials")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_keeps_the_smallest_trial_so_far(
    tmp_path: Path, capsys, number: signal.Signals
) -> None:
    spec(MUTANT, 30, tmp_path, capsys)
    script = Path(sys.executable).with_name("kafka-trial")
    started = subprocess.Popen(
        [str(script), "shrink", str(tmp_path / "spec.json"), "--out-dir", str(tmp_path / "runs")],
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        # A background shell ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert started.stderr is not None
    for line in started.stderr:
        if line.startswith("round 1"):
            break
    os.killpg(started.pid, number)
    said = started.communicate()[1]
    assert started.returncode == 128 + number, said
    assert "Traceback" not in said and "interrupted: " in said
    [minimal] = (tmp_path / "runs").glob("*/minimal.json")
    assert len(json.loads(minimal.read_text())["faults"]) < 30
    assert RunStore.open(tmp_path / "runs").record.stop_reason == "interrupted"
    assert not (minimal.parent / TRIAL).exists()
