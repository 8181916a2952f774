"""``kafka-trial baseline``: what it adds, removes, reports and refuses."""

from __future__ import annotations

import json

import pytest

from harness.baseline import KnownFailure, apply
from harness.baseline.file import parse
from harness.cli.main import call
from testkit.codes import has_error

OURS = '# Ours.\n\n# since May\n[[known]]\nclient = "d@1"\nanomaly = "lost"\nreason = "so"\n'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "known.toml"


def test_update_adds_all_failures(run_of, verdict, file, capsys) -> None:
    run = run_of(
        "r",
        verdict("lost"),
        verdict("lost", "duplicate", scenario="frame/torn-answer"),
        verdict(client="d@1"),
    )
    file.write_text(OURS)
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 1
    assert call(["baseline", "update", str(run), "--file", str(file)]) == 0
    assert file.read_text().startswith(OURS)
    assert [str(entry) for entry in parse(file.read_text(), "f")[1:]] == [
        "c@1 duplicate in frame/torn-answer under idempotent",
        "c@1 lost in * under idempotent",
    ]
    capsys.readouterr()
    assert call(["baseline", "update", str(run), "--file", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(file), "added": []}


def test_update_creates_a_missing_file(run_of, verdict, file) -> None:
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "update", str(run), "--file", str(file)]) == 0
    assert file.read_text().startswith("# Known failures")
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 0


def test_prune_removes_unneeded_entries_only(run_of, verdict, file) -> None:
    gone = '# fixed?\n[[known]]\nclient = "c@1"\nanomaly = "duplicate"\nreason = "so"\n'
    file.write_text(f"{OURS}\n{gone}")
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "prune", str(run), "--file", str(file)]) == 0
    assert file.read_text().rstrip() == OURS.rstrip()


@pytest.mark.parametrize("command", ["update", "prune"])
def test_an_incomplete_run_is_refused(run_of, verdict, file, capsys, command) -> None:
    file.write_text(OURS)
    run = run_of("r", verdict("lost"), lacking=1)
    assert call(["baseline", command, str(run), "--file", str(file)]) == 2
    assert has_error(capsys.readouterr().err, "run-incomplete", "1", "2")
    assert file.read_text() == OURS


def test_check_reports_each_difference_in_one_line(run_of, verdict, file, capsys) -> None:
    file.write_text(
        OURS + '\n[[known]]\nclient = "c@1"\nanomaly = "duplicate"\nreason = "so"\n'
        '\n[[known]]\nclient = "c@1"\nanomaly = "lost"\nscenario = "frame/*"\nreason = "so"\nexpires = 2020-01-31\n'
    )
    run = run_of("r", verdict("lost", scenario="frame/torn-answer"), verdict(seed=2))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "new failure: c@1: lost: 3 records (1 trial, 1 scenario)",
        f"unexpected pass: c@1 duplicate in *: it held in 1 trial, such as {verdict(seed=2).trial}",
        "expired on 2020-01-31: c@1 lost in frame/*",
    ]
    assert call(["baseline", "check", str(run), "--file", str(file), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {key: len(document[key]) for key in ("new", "unexpected", "expired")} == dict.fromkeys(
        ("new", "unexpected", "expired"), 1
    )


def test_expectations_of_another_list_are_ignored(run_of, verdict, file) -> None:
    file.write_text(OURS)
    run = run_of("r", apply(verdict("lost"), [KnownFailure("c@1", "so", anomaly="lost")]))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 1


def test_errors_have_codes_and_no_traceback(run_of, verdict, file, tmp_path, capsys) -> None:
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 2
    file.write_text(OURS.replace("lost", "losst"))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 2
    assert call(["baseline", "check", str(tmp_path / "none"), "--file", "known"]) == 2
    told = capsys.readouterr().err
    assert (
        has_error(told, "unknown-anomaly", "'lost'") and "Traceback" not in told and told.count("error[") == 3
    )
