"""What stands in the place of stored files: told in one sentence, never waited for, never followed."""

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
ODD = {
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
NO_FOLDER = {
    "pipe": "is a pipe, not a folder",
    "link to a folder": "is a link, not a folder",
    "link to what was there": "is a link, not a folder",
    "file": "is a file, not a folder",
}
READERS = {
    "judge": lambda run: ("judge", run),
    "report": lambda run: ("report", run),
    "diff": lambda run: ("diff", run, run),
    "check": lambda run: ("baseline", "check", run, "--file", os.devnull),
    "update": lambda run: ("baseline", "update", run, "--file", run.parent / "known.toml"),
    "perturb": lambda run: ("perturb", run),
    "resume": lambda run: ("run", "--resume", run),
    "rerun": lambda run: ("run", "--rerun-failed", run),
}


def live(run: Path) -> Path:
    """The run as one of real brokers, which is what can be resumed."""
    (run / RUN).write_text((run / RUN).read_text().replace("scripted:", "local:"))
    return run


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("name", first(EVIDENCE))
def test_no_evidence_is_read_from_anything_but_a_file(
    run, trial, outside, command, plant, name, what
) -> None:
    plant(trial / name, what, outside)
    if name != VERDICT:  # which judge writes
        assert command("judge", run.folder).code == 3
    spoiled, *others = sorted(run.verdicts(), key=lambda verdict: verdict.trial != trial.name)
    assert spoiled.verdict == "harness-error" and {other.verdict for other in others} == {"pass"}
    assert ODD[what] in spoiled.reason and name in spoiled.reason
    assert list(pack(run).spoiled) == ([] if name == VERDICT else [trial.name])


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("reader", first(READERS))
def test_no_command_reads_a_run_from_anything_but_a_file(run, outside, command, plant, reader, what) -> None:
    plant(run.folder / RUN, what, outside)
    told = command(*READERS[reader](run.folder))
    assert told.code == 2 and ODD[what] in told.sentence


@pytest.mark.parametrize("what", NO_FOLDER)
@pytest.mark.parametrize("reader", first(READERS))
def test_no_command_follows_a_link_in_the_place_of_the_trials(
    run, outside, command, plant, reader, what
) -> None:
    (outside.parent / "moved-trials").mkdir()
    plant(run.folder / "trials", what, outside)
    told = command(*READERS[reader](run.folder if reader != "resume" else live(run.folder)))
    assert told.code == 2 and NO_FOLDER[what] in told.sentence


@pytest.mark.parametrize("what", NO_FOLDER)
@pytest.mark.parametrize("reader", first(READERS))
def test_no_command_follows_a_link_in_the_place_of_a_trial(
    run, trial, outside, command, plant, reader, what
) -> None:
    plant(trial, what, outside)
    told = command(*READERS[reader](run.folder if reader != "resume" else live(run.folder)))
    assert told.code == 2 and NO_FOLDER[what] in told.sentence


@pytest.mark.parametrize("what", ODD)
def test_no_trial_is_replayed_from_anything_but_a_file(
    trial, outside, command, plant, what, tmp_path
) -> None:
    plant(trial / TRIAL, what, outside)
    told = command("replay", trial, "--out-dir", tmp_path / "again")
    assert told.code == 2 and ODD[what] in told.sentence


def test_no_trial_is_found_by_its_name_behind_a_link(run, trial, outside, command) -> None:
    trial.rename(outside.parent / "moved")
    trial.symlink_to(outside.parent / "moved")
    told = command("replay", trial.name, "--out-dir", run.folder.parent)
    assert told.code == 2


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "sparse file", "socket"])
def test_the_name_of_the_latest_run_is_read_from_a_file(run, outside, command, plant, what) -> None:
    plant(run.folder.parent / "latest", what, outside)
    assert command("judge", run.folder.parent).code == 2


def test_the_latest_run_is_no_link(run, command, tmp_path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "latest").write_text("run\n")
    (tmp_path / "theirs" / "run").symlink_to(run.folder)
    told = command("judge", tmp_path / "theirs")
    assert told.code == 2 and has_error(told.sentence, "cannot-read")


def test_a_run_that_the_user_names_by_a_link_is_read(run, command, tmp_path) -> None:
    (tmp_path / "mine").symlink_to(run.folder)
    assert command("judge", tmp_path / "mine").code == 0


@pytest.mark.parametrize(
    "name", ["one\ntwo", " ", "-rf", "~", "$(touch x)", "\u202egnp", "x" * 255, "x" * 300, "y" * 100_000]
)
def test_strange_names_of_trials_stay_in_their_folder(run, trial, outside, command, name) -> None:
    record = run.record
    spec = msgspec.structs.replace(record.plan.trials[0], trial=name)
    run.replace_plan(msgspec.structs.replace(record.plan, trials=(spec,)))
    told = command("judge", run.folder)
    if len(name) > 255:
        assert told.code == 2 and has_error(told.sentence, "cannot-read", "File name too long")
    else:
        assert told.code == 5  # it was never run
    trial.rename(trial.with_name(name[:200]))
    assert sorted(path.name for path in run.folder.parent.iterdir()) == [run.folder.name]


def test_a_folder_in_folders_without_end_is_no_file(run, trial, command) -> None:
    (trial / VERDICT).unlink()
    at = trial / VERDICT
    for _ in range(200):
        at.mkdir()
        at /= "d"
    (reason,) = {verdict.reason for verdict in run.verdicts() if verdict.verdict == "harness-error"}
    assert "it is a folder" in reason


@pytest.mark.parametrize("what", ["pipe", "link", "device"])
def test_what_takes_a_file_s_place_before_it_is_opened_is_not_read(
    trial, outside, plant, monkeypatch, what
) -> None:
    """Between looking at a file and opening it, somebody is quick."""
    look = os.stat

    def slow(name, **more):
        found = look(name, **more)
        if name == VERDICT:
            plant(trial / VERDICT, what, outside)
        return found

    monkeypatch.setattr(reading.os, "stat", slow)
    with pytest.raises(OSError, match=r"not a regular file|Too many levels"):
        files.read_stored(trial / VERDICT, trial.parents[1])


def test_what_grows_while_it_is_read_is_no_whole_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    look = os.fstat

    def quick(fd):
        found = look(fd)
        with path.open("ab") as file:
            file.write(b"more")
        return found

    monkeypatch.setattr(reading.os, "fstat", quick)
    with pytest.raises(OSError, match="it grew") as caught:
        files.read_stored(path)
    assert caught.value.errno == errno.EBUSY


def test_a_page_lists_no_link_and_no_pipe(trial, outside, plant) -> None:
    before = files.names(trial, trial.parents[1])
    for what in ("pipe", "link", "broken link", "socket", "folder"):
        plant(trial / f"a {what}", what, outside)
    assert files.names(trial, trial.parents[1]) == before


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "device", "sparse file"])
def test_the_end_of_a_log_is_not_waited_for(tmp_path: Path, outside, plant, what) -> None:
    plant(tmp_path / "client.log", what, outside)
    assert files.tail(tmp_path / "client.log", 100) == ("\0" * 100 if what == "sparse file" else "")


def test_every_reader_is_given_runs_that_are_fine(run: RunStore, command) -> None:
    """The refusals above are not because of something else."""
    assert command("judge", run.folder).code == 0
    assert command("diff", run.folder, run.folder).code == 0
    assert command("baseline", "check", run.folder, "--file", os.devnull).code == 0
