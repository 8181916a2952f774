"""``kafka-trial baseline``: what is added, what goes, what is told, and what is refused."""

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


def test_update_adds_what_fails_and_check_is_then_content(run_of, verdict, file, capsys) -> None:
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


def test_a_file_that_is_not_there_yet_is_begun(run_of, verdict, file) -> None:
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "update", str(run), "--file", str(file)]) == 0
    assert file.read_text().startswith("# Known failures")
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 0


def test_prune_removes_what_nothing_needed_and_keeps_the_rest(run_of, verdict, file) -> None:
    gone = '# fixed?\n[[known]]\nclient = "c@1"\nanomaly = "duplicate"\nreason = "so"\n'
    file.write_text(f"{OURS}\n{gone}")
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "prune", str(run), "--file", str(file)]) == 0
    assert file.read_text().rstrip() == OURS.rstrip()


@pytest.mark.parametrize("command", ["update", "prune"])
def test_part_of_a_run_changes_no_list(run_of, verdict, file, capsys, command) -> None:
    file.write_text(OURS)
    run = run_of("r", verdict("lost"), lacking=1)
    assert call(["baseline", command, str(run), "--file", str(file)]) == 2
    assert has_error(capsys.readouterr().err, "run-incomplete", "1", "2")
    assert file.read_text() == OURS


def test_check_says_each_thing_in_one_line(run_of, verdict, file, capsys) -> None:
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


def test_a_run_that_was_judged_with_another_list_is_taken_as_it_was_without(run_of, verdict, file) -> None:
    file.write_text(OURS)
    run = run_of("r", apply(verdict("lost"), [KnownFailure("c@1", "so", anomaly="lost")]))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 1


def test_errors_are_one_sentence(run_of, verdict, file, tmp_path, capsys) -> None:
    run = run_of("r", verdict("lost"))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 2
    file.write_text(OURS.replace("lost", "losst"))
    assert call(["baseline", "check", str(run), "--file", str(file)]) == 2
    assert call(["baseline", "check", str(tmp_path / "none"), "--file", "known"]) == 2
    told = capsys.readouterr().err
    assert (
        has_error(told, "unknown-anomaly", "'lost'") and "Traceback" not in told and told.count("error[") == 3
    )
