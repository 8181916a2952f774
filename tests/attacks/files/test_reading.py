"""Other things in place of stored files end in one error: none of them is waited for, and no link is followed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from harness import files
from harness.files import reading
from harness.model.run_files import RUN, TRIAL, VERDICT
from harness.storage.parquet_writer import pack
from harness.storage.run_store import RunStore
from testkit.codes import has_error

from .conftest import first

ROWS = tuple(f"{name}.jsonl.zst" for name in ("history", "frames", "faults", "log", "trace"))
EVIDENCE = (VERDICT, *ROWS, TRIAL)
NOT_A_FILE = {
    "pipe": "it is a pipe, not a regular file",
    "link": "it is a link, not a regular file",
    "link to what was there": "it is a link, not a regular file",
    "broken link": "it is a link, not a regular file",
    "link to itself": "it is a link, not a regular file",
    "folder": "it is a folder, not a regular file",
    "socket": "it is a socket, not a regular file",
    "device": "it is a device, not a regular file",
    "sparse file": "it has 214,748,364,800 bytes, and at most",
}
NOT_A_FOLDER = {
    "pipe": "is a pipe, not a folder",
    "link to a folder": "is a link, not a folder",
    "link to what was there": "is a link, not a folder",
    "file": "is a file, not a folder",
}
COMMANDS = {
    "judge": lambda run: ("judge", run),
    "report": lambda run: ("report", run),
    "diff": lambda run: ("diff", run, run),
    "check": lambda run: ("baseline", "check", run, "--file", os.devnull),
    "update": lambda run: ("baseline", "update", run, "--file", run.parent / "known.toml"),
    "perturb": lambda run: ("perturb", run),
    "resume": lambda run: ("run", "--resume", run),
    "rerun": lambda run: ("run", "--rerun-failed", run),
}


def as_live(run: Path) -> Path:
    """Change the broker of the run to a real one, because only such a run can be resumed."""
    (run / RUN).write_text((run / RUN).read_text().replace("scripted:", "local:"))
    return run


@pytest.mark.parametrize("what", NOT_A_FILE)
@pytest.mark.parametrize("name", first(EVIDENCE))
def test_evidence_is_read_from_regular_files_only(run, trial, outside, command, plant, name, what) -> None:
    plant(trial / name, what, outside)
    if name != VERDICT:  # judge writes this file
        assert command("judge", run.folder).code == 3
    spoiled, *others = sorted(run.verdicts(), key=lambda verdict: verdict.trial != trial.name)
    assert spoiled.verdict == "harness-error" and {other.verdict for other in others} == {"pass"}
    assert NOT_A_FILE[what] in spoiled.reason and name in spoiled.reason
    assert list(pack(run).spoiled) == ([] if name == VERDICT else [trial.name])


@pytest.mark.parametrize("what", NOT_A_FILE)
@pytest.mark.parametrize("name_of_command", first(COMMANDS))
def test_run_is_read_from_a_regular_file_only(run, outside, command, plant, name_of_command, what) -> None:
    plant(run.folder / RUN, what, outside)
    ended = command(*COMMANDS[name_of_command](run.folder))
    assert ended.code == 2 and NOT_A_FILE[what] in ended.error_line


@pytest.mark.parametrize("what", NOT_A_FOLDER)
@pytest.mark.parametrize("name_of_command", first(COMMANDS))
def test_trials_folder_must_be_a_folder(run, outside, command, plant, name_of_command, what) -> None:
    (outside.parent / "moved-trials").mkdir()
    plant(run.folder / "trials", what, outside)
    ended = command(
        *COMMANDS[name_of_command](run.folder if name_of_command != "resume" else as_live(run.folder))
    )
    assert ended.code == 2 and NOT_A_FOLDER[what] in ended.error_line


@pytest.mark.parametrize("what", NOT_A_FOLDER)
@pytest.mark.parametrize("name_of_command", first(COMMANDS))
def test_trial_folder_must_be_a_folder(run, trial, outside, command, plant, name_of_command, what) -> None:
    plant(trial, what, outside)
    ended = command(
        *COMMANDS[name_of_command](run.folder if name_of_command != "resume" else as_live(run.folder))
    )
    assert ended.code == 2 and NOT_A_FOLDER[what] in ended.error_line


@pytest.mark.parametrize("what", NOT_A_FILE)
def test_trial_is_replayed_from_a_regular_file_only(trial, outside, command, plant, what, tmp_path) -> None:
    plant(trial / TRIAL, what, outside)
    ended = command("replay", trial, "--out-dir", tmp_path / "again")
    assert ended.code == 2 and NOT_A_FILE[what] in ended.error_line


def test_linked_trial_is_not_found_by_name(run, trial, outside, command) -> None:
    trial.rename(outside.parent / "moved")
    trial.symlink_to(outside.parent / "moved")
    ended = command("replay", trial.name, "--out-dir", run.folder.parent)
    assert ended.code == 2


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "sparse file", "socket"])
def test_latest_is_read_from_a_regular_file_only(run, outside, command, plant, what) -> None:
    plant(run.folder.parent / "latest", what, outside)
    assert command("judge", run.folder.parent).code == 2


def test_latest_run_must_not_be_a_link(run, command, tmp_path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "latest").write_text("run\n")
    (tmp_path / "theirs" / "run").symlink_to(run.folder)
    ended = command("judge", tmp_path / "theirs")
    assert ended.code == 2 and has_error(ended.error_line, "cannot-read")


def test_run_named_by_a_link_is_read(run, command, tmp_path) -> None:
    (tmp_path / "mine").symlink_to(run.folder)
    assert command("judge", tmp_path / "mine").code == 0


@pytest.mark.parametrize(
    "name", ["one\ntwo", " ", "-rf", "~", "$(touch x)", "\u202egnp", "x" * 255, "x" * 300, "y" * 100_000]
)
def test_trial_name_cannot_escape_the_run(run, trial, outside, command, name) -> None:
    record = run.record
    spec = msgspec.structs.replace(record.plan.trials[0], trial=name)
    run.replace_plan(msgspec.structs.replace(record.plan, trials=(spec,)))
    ended = command("judge", run.folder)
    if len(name) > 255:
        assert ended.code == 2 and has_error(ended.error_line, "cannot-read", "File name too long")
    else:
        assert ended.code == 5  # the trial was never run
    trial.rename(trial.with_name(name[:200]))
    assert sorted(path.name for path in run.folder.parent.iterdir()) == [run.folder.name]


def test_deeply_nested_folder_is_not_a_file(run, trial, command) -> None:
    (trial / VERDICT).unlink()
    at = trial / VERDICT
    for _ in range(200):
        at.mkdir()
        at /= "d"
    (reason,) = {verdict.reason for verdict in run.verdicts() if verdict.verdict == "harness-error"}
    assert NOT_A_FILE["folder"] in reason


@pytest.mark.parametrize("what", ["pipe", "link", "device"])
def test_file_swapped_before_open_is_refused(trial, outside, plant, monkeypatch, what) -> None:
    """The file is replaced between the call of ``stat`` and the call of ``open``."""
    stat = os.stat

    def swapping(name, **more):
        found = stat(name, **more)
        if name == VERDICT:
            plant(trial / VERDICT, what, outside)
        return found

    # The race cannot be won reliably with a second process.
    monkeypatch.setattr(reading.os, "stat", swapping)
    with pytest.raises(OSError, match=r"not a regular file|Too many levels"):
        files.read_stored(trial / VERDICT, trial.parents[1])


def test_file_that_grows_while_read_is_refused(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    stat = os.fstat

    def growing(fd):
        found = stat(fd)
        with path.open("ab") as file:
            file.write(b"more")
        return found

    # The race cannot be won reliably with a second process.
    monkeypatch.setattr(reading.os, "fstat", growing)
    with pytest.raises(OSError, match="it grew") as caught:
        files.read_stored(path)
    assert caught.value.errno == errno.EBUSY


def test_names_lists_regular_files_only(trial, outside, plant) -> None:
    before = files.names(trial, trial.parents[1])
    for what in ("pipe", "link", "broken link", "socket", "folder"):
        plant(trial / f"a {what}", what, outside)
    assert files.names(trial, trial.parents[1]) == before


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "device", "sparse file"])
def test_tail_of_anything_but_a_file_is_empty(tmp_path: Path, outside, plant, what) -> None:
    plant(tmp_path / "client.log", what, outside)
    assert files.tail(tmp_path / "client.log", 100) == ("\0" * 100 if what == "sparse file" else "")


def test_undamaged_run_is_accepted(run: RunStore, command) -> None:
    """The commands of the tests above are refused only because of the planted files."""
    assert command("judge", run.folder).code == 0
    assert command("diff", run.folder, run.folder).code == 0
    assert command("baseline", "check", run.folder, "--file", os.devnull).code == 0
