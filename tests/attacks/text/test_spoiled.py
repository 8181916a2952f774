"""A trial with damaged files is a harness-error, and the other trials of the run are judged and reported."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call
from harness.files import zstd
from harness.storage.run_store import RunStore

pytestmark = pytest.mark.long("packs and reports a whole run")

Change = Callable[[Path], None]


def unpacked_file(trial: Path, name: str) -> Path:
    """Return the path of the file, uncompressed as in older runs."""
    path = trial / name
    if name.endswith(".jsonl"):
        packed = zstd.at_rest(path)
        path.write_bytes(zstd.unpacked(packed.read_bytes()))
        packed.unlink()
    return path


def in_file(name: str, old: str, new: str) -> Change:
    def change(trial: Path) -> None:
        path = unpacked_file(trial, name)
        text = path.read_text()
        assert re.search(old, text), name
        path.write_text(re.sub(old, new, text, count=1))

    return change


def without(name: str) -> Change:
    return lambda trial: unpacked_file(trial, name).unlink()


def as_bytes(name: str, data: bytes) -> Change:
    return lambda trial: unpacked_file(trial, name).write_bytes(data) and None


LARGE = str(2**63)
#: This affects only a column of the tables, and no verdict.
TIME_BEYOND_INT64 = "a time beyond int64"
SPOILED: dict[str, Change] = {
    "an offset beyond int64": in_file("history.jsonl", r'"offset":\[\d+', f'"offset":[{LARGE}'),
    "a partition beyond any": in_file("history.jsonl", r'"partition":\[\d+', '"partition":[' + "9" * 400),
    "no JSON": as_bytes("history.jsonl", b"{"),
    "Latin-1": as_bytes("log.jsonl", b'{"topic": "caf\xe9"}\n'),
    "nested": as_bytes("faults.jsonl", b"[" * 200_000),
    "no history": without("history.jsonl"),
    "no record": without("trial.json"),
    "of columns unequal": in_file("history.jsonl", r'"outcome":\["ok",', '"outcome":['),
    "without end": in_file(
        "history.jsonl", r'("op":"send","id":\d+,"first":\d+,"count":)\d+', rf"\g<1>{2**62}"
    ),
    TIME_BEYOND_INT64: in_file("frames.jsonl", r'"t_ns":\d+', f'"t_ns":{LARGE}'),
    "another version of the schema": in_file("trial.json", r'"schema_version": \d+', '"schema_version": 99'),
    "an outcome that is none": in_file("history.jsonl", r'"outcome":\["ok"', '"outcome":["\\\\u001b[2J"'),
    "a moment beyond int64": in_file("trial.json", r'"end_ns": \d+', f'"end_ns": {"9" * 400}'),
    "a workload without end": in_file("trial.json", r'"records": \d+', f'"records": {2**62}'),
}
SPOILED_VERDICT: dict[str, Change] = {
    "no verdict": as_bytes("verdict.json", b""),
    "a verdict that is none": in_file("verdict.json", '"verdict": "pass"', '"verdict": "splendid"'),
    "more records than any": in_file(
        "verdict.json", r'"acked": \d+(?=[^}]*"longest)', f'"acked": {"9" * 400}'
    ),
    "of another trial": in_file("verdict.json", r'"trial": "[^"]*"', '"trial": "../../../etc"'),
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], RunStore]:
    """Return a function that returns a new copy of a run of three simulated trials that pass."""
    folder = tmp_path_factory.mktemp("three")
    plan = folder / "plan.json"
    argv = ["run", "produce/dropped-response", "-c", "reference", "-g", "idempotent", "--seeds", "3"]
    out = TextIOWrapper(BytesIO())
    with redirect_stdout(out):
        assert call([*argv, "--dry-run", "--json"]) == 0
    plan.write_bytes(out.buffer.getvalue())  # type: ignore[attr-defined]
    assert call(["replay", str(plan), "-b", "scripted:4.3.1x1", "--out-dir", str(folder / "runs"), "-q"]) == 0
    made = RunStore.open(folder / "runs").folder

    def copy() -> RunStore:
        into = tmp_path_factory.mktemp("copy") / made.name
        shutil.copytree(made, into)
        return RunStore.open(into)

    return copy


def document(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    out, err = capsys.readouterr()
    return json.loads(out), err


def spoil(store: RunStore, change: Change) -> str:
    trial = store.record.plan.trials[1].trial
    change(store.trial_folder(trial))
    return trial


@pytest.mark.parametrize("name", sorted(SPOILED.keys() - {TIME_BEYOND_INT64}))
def test_judge_continues_with_other_trials(name, three, capsys):
    store = three()
    bad = spoil(store, SPOILED[name])

    assert call(["judge", str(store.folder), "--json"]) == 3

    told, err = document(capsys)
    verdicts = {each["trial"]: each["verdict"] for each in told["verdicts"]}
    assert sorted(verdicts.values()) == ["harness-error", "pass", "pass"] and verdicts[bad] == "harness-error"
    assert "defect" not in err and all(line.isprintable() for line in err.split("\n"))
    assert "harness-error" in (store.folder / "summary.md").read_text()
    assert (store.folder / "junit.xml").read_text().count("<testcase") == 3


@pytest.mark.parametrize("name", SPOILED_VERDICT)
def test_damaged_verdict_does_not_stop_diff_and_baseline(name, three, capsys):
    store, whole = three(), three()
    bad = spoil(store, SPOILED_VERDICT[name])

    assert call(["diff", str(whole.folder), str(store.folder), "--json"]) in (0, 1)
    told, err = document(capsys)
    assert told["counts"]["same"] == 2 and "defect" not in err
    assert call(["baseline", "check", str(store.folder), "--file", "known"]) in (0, 1)
    assert {each.verdict for each in store.verdicts() if each.trial == bad} == {"harness-error"}
    capsys.readouterr()
    assert call(["judge", str(store.folder), "--json"]) == 0, "the evidence is undamaged"


@pytest.mark.jvm
def test_report_continues_with_other_trials(three):
    store = three()
    bad = [spec.trial for spec in store.record.plan.trials[:2]]
    for trial, name in zip(bad, ("an offset beyond int64", TIME_BEYOND_INT64), strict=True):
        SPOILED[name](store.trial_folder(trial))

    script = str(Path(sys.executable).with_name("kafka-trial"))
    ended = subprocess.run([script, "report", str(store.folder), "--json"], capture_output=True, text=True)

    assert ended.returncode == 3 and "defect" not in ended.stderr, ended.stderr
    told = re.findall(r"harness-error: (\S+): its evidence cannot be read: (.*)", ended.stderr)
    assert [trial for trial, _ in told] == bad
    assert "history.jsonl: Expected `int` <=" in told[0][1] and "do not fit their columns" in told[1][1]
    assert json.loads(ended.stdout)["agreement"]["trials"] == 1
    report = store.folder / "report"
    lines = [json.loads(line) for line in (report / "results.jsonl").read_text().splitlines()]
    assert [each["verdict"] for each in lines] == ["harness-error", "harness-error", "pass"]
    for trial, why in told:
        page = (report / "trials" / f"{trial}.html").read_text()
        assert why.split(":")[-1].strip()[:20] in page.replace("&lt;", "<").replace("&#34;", '"')
