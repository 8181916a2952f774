"""A report replaces only a report of kafka-trial, and no other file or folder is changed or deleted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from harness import files
from harness.files import swapping
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.run_files import RUN
from harness.storage import parquet_writer
from harness.storage.run_store import RunStore
from reports.place import MANIFEST, report_place
from testkit.codes import has_error, raises_code

from .conftest import snapshot

pytestmark = pytest.mark.long("judges or reports a run for each place")


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if Spark starts: an unsuitable place must be refused first."""

    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    # The command has no parameter for another writer of tables.
    monkeypatch.setattr(parquet_writer, "packed", started)


def write_report(store: RunStore, out: Path | None = None, **more: bytes) -> Path:
    with report_place(store, out) as place:
        place.folder("trials")
        for name, data in {"index.html": b"index", "trials/one.html": b"one", **more}.items():
            place.write(name, data)
    return place.final


PLACES = {
    "the run": (".", ("report-contains-run",)),
    "the trials": ("trials", ("report-inside-run",)),
    "a trial": ("trials/TRIAL", ("report-inside-run",)),
    "a new folder in a trial": ("trials/TRIAL/report", ("report-inside-run",)),
    "a new folder in the run": ("other", ("report-inside-run",)),
    "in the run's own report": ("report/again", ("report-inside-run",)),
    "the folder of runs": ("..", ("report-contains-run",)),
    "the folder of runs, by name": ("../../runs", ("report-contains-run",)),
    "above": ("../..", ("report-contains-run",)),
    "the root": ("/", ("report-contains-run",)),
    "around": ("trials/../../RUN/trials", ("report-inside-run",)),
}


@pytest.mark.parametrize("place", PLACES)
def test_report_cannot_replace_evidence(run, trial, command, place) -> None:
    where, code = PLACES[place]
    out = run.folder / where.replace("TRIAL", trial.name).replace("RUN", run.folder.name)
    before = snapshot(run.folder)
    ended = command("report", run.folder, "--out", out)
    assert ended.code == 2 and has_error(ended.error_line, *code)
    assert snapshot(run.folder) == before


def test_relative_path_cannot_replace_evidence(run, command, monkeypatch) -> None:
    before = snapshot(run.folder)
    for here, out in ((run.folder, "."), (run.folder / "trials", ".."), (run.folder.parent, run.folder.name)):
        monkeypatch.chdir(here)
        ended = command("report", run.folder, "--out", out)
        assert ended.code == 2 and has_error(ended.error_line, "report-contains-run")
    assert snapshot(run.folder) == before


def test_link_cannot_replace_evidence(run, command, tmp_path) -> None:
    (tmp_path / "link").symlink_to(run.folder)
    before = snapshot(run.folder)
    assert command("report", run.folder, "--out", tmp_path / "link").code == 2
    assert has_error(
        command("report", run.folder, "--out", tmp_path / "link" / "trials").error_line, "report-inside-run"
    )
    assert command("report", tmp_path / "link", "--out", run.folder).code == 2
    assert snapshot(run.folder) == before


def test_report_cannot_be_inside_another_run(run, evidence, command) -> None:
    for out in (evidence, evidence / "report", evidence / "trials", evidence.parent):
        before = snapshot(evidence.parent)
        ended = command("report", run.folder, "--out", out)
        assert ended.code == 2 and ended.error_line
        assert snapshot(evidence.parent) == before


IN_THE_WAY = {
    "link to a folder": "is a link, not the folder of a report",
    "broken link": "is a link, not the folder of a report",
    "link": "is a link, not the folder of a report",
    "link to itself": "is a link, not the folder of a report",
    "full folder": "is not empty, and not a report of kafka-trial",
    "file": "is a file, not the folder of a report",
    "pipe": "is a pipe, not the folder of a report",
    "socket": "is a socket, not the folder of a report",
}


@pytest.mark.parametrize("where", ["own", "named"])
@pytest.mark.parametrize("what", IN_THE_WAY)
def test_anything_but_a_report_is_not_replaced(run, outside, command, plant, what, where, tmp_path) -> None:
    out = run.folder / "report" if where == "own" else tmp_path / "out"
    plant(out, what, outside)
    before = snapshot(tmp_path)
    ended = command("report", run.folder, *(() if where == "own" else ("--out", out)))
    assert ended.code == 2 and IN_THE_WAY[what] in ended.error_line
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["assets", "trials", "tables"])
def test_folders_with_common_names_are_kept(run, command, tmp_path, name) -> None:
    (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "home" / name / "precious").write_bytes(b"precious")
    assert command("report", run.folder, "--out", tmp_path / "home").code == 2
    assert (tmp_path / "home" / name / "precious").read_bytes() == b"precious"


def test_report_replaces_report_and_empty_folder(run, tmp_path) -> None:
    for out in (None, tmp_path / "new" / "place", tmp_path / "empty"):
        if out and out.name == "empty":
            out.mkdir()
        write_report(run, out, **{"trials/old.html": b"old"})
        final = write_report(run, out)
        names = {str(path.relative_to(final)) for path in final.rglob("*")}
        assert names == {MANIFEST, "index.html", "trials", "trials/one.html"}
        assert final.stat().st_mode & 0o777 == 0o700
        assert all(path.stat().st_mode & 0o077 == 0 for path in final.rglob("*"))
        assert sorted(path.name for path in final.parent.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("added", ["notes.md", "trials/notes.md", "deep/er/notes.md", "run.json", ".hidden"])
def test_report_with_added_file_is_not_replaced(run, command, tmp_path, added) -> None:
    final = write_report(run, tmp_path / "out")
    (final / added).parent.mkdir(parents=True, exist_ok=True)
    (final / added).write_bytes(b"precious")
    before = snapshot(final)
    ended = command("report", run.folder, "--out", final)
    assert ended.code == 2 and (
        "[report-foreign-file]" in ended.error_line or "[report-is-run]" in ended.error_line
    )
    assert snapshot(final) == before


@pytest.mark.parametrize("listed", [b"", b"{", b"[1]", b"[" * 100_000, b'["other"]', b"\xff"])
def test_folder_with_invalid_manifest_is_not_replaced(run, command, tmp_path, listed) -> None:
    final = write_report(run, tmp_path / "out")
    (final / MANIFEST).write_bytes(listed)
    assert command("report", run.folder, "--out", final).code == 2
    assert (final / "index.html").exists()


def test_too_large_manifest_is_refused(run, command, tmp_path, monkeypatch) -> None:
    final = write_report(run, tmp_path / "out")
    # A manifest above the real limit would take more than 160 MiB of memory.
    monkeypatch.setattr("reports.place.PLAN_BYTES", 100)
    assert command("report", run.folder, "--out", final).code == 2
    assert (final / "index.html").exists()


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "sparse file", "socket"])
def test_manifest_must_be_a_regular_file(run, command, tmp_path, outside, plant, what) -> None:
    final = write_report(run, tmp_path / "out")
    plant(final / MANIFEST, what, outside)
    assert command("report", run.folder, "--out", final).code == 2


def test_link_targets_of_old_report_are_kept(run, outside, tmp_path) -> None:
    """The old report belongs to a run from another user, and its manifest lists links."""
    final = run.folder / "report"
    final.mkdir()
    (final / "trials").symlink_to(outside)
    (final / "index.html").symlink_to(outside / "file")
    (final / MANIFEST).write_text('["trials", "index.html"]')
    write_report(run)
    assert (final / "trials" / "one.html").read_bytes() == b"one" and not (final / "trials").is_symlink()


def test_failed_report_keeps_previous_one(run) -> None:
    final = write_report(run, **{"index.html": b"before"})
    before = snapshot(run.folder)
    for error in (KeyboardInterrupt(), ZeroDivisionError(), OSError(errno.ENOSPC, "No space left on device")):
        with pytest.raises((type(error), EnvironmentProblem)), report_place(run) as place:
            place.write("index.html", b"half")
            raise error
        assert snapshot(run.folder) == before
    assert (final / "index.html").read_bytes() == b"before"


def test_folder_created_meanwhile_is_not_replaced(run, outside) -> None:
    with raises_code(UsageError, "report-not-a-folder", kind="a link"), report_place(run):
        (run.folder / "report").symlink_to(outside)
    (run.folder / "report").unlink()
    with raises_code(UsageError, "report-folder-not-empty"), report_place(run):
        (run.folder / "report").mkdir()
        (run.folder / "report" / "precious").touch()
    assert (run.folder / "report" / "precious").exists()


def test_previous_report_is_restored_if_rename_fails(run, monkeypatch) -> None:
    final = write_report(run, **{"index.html": b"before"})
    rename, calls = os.rename, []

    def failing_rename(old, new, **more):
        calls.append(new)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(old, new, **more)

    # The disk cannot be made to fail in the second rename alone.
    monkeypatch.setattr(swapping.os, "rename", failing_rename)
    with raises_code(EnvironmentProblem, "cannot-write", why="Input/output error"):
        write_report(run)
    assert (final / "index.html").read_bytes() == b"before"


def test_concurrent_reports_are_complete_and_last_one_is_kept(run) -> None:
    with report_place(run) as first:
        first.write("index.html", b"first")
        with report_place(run) as second:
            second.write("index.html", b"second")
        assert (second.final / "index.html").read_bytes() == b"second"
    assert (first.final / "index.html").read_bytes() == b"first"
    assert not list(run.folder.glob(".*"))


def test_only_leftovers_of_dead_processes_are_removed(run, outside) -> None:
    left = run.folder / f".report.0{swapping._SUFFIX}"
    left.mkdir()
    (left / "half").touch()
    (run.folder / f".report.1{swapping._SUFFIX}").symlink_to(outside)
    (run.folder / f".report.2{swapping._SUFFIX}").touch()
    (run.folder / ".report.mine").mkdir()
    write_report(run)
    names = {path.name for path in run.folder.glob(".*")}
    assert names == {f".report.1{swapping._SUFFIX}", f".report.2{swapping._SUFFIX}", ".report.mine"}


@pytest.mark.parametrize("what", ["link to a folder", "broken link", "file", "pipe", "full folder"])
def test_tables_replace_links_and_are_not_written_through_them(run, outside, plant, what) -> None:
    plant(run.folder / "tables", what, outside)
    with files.built(run.folder / "tables", run.folder) as building:
        files.create(building / "new").close()
    assert [path.name for path in (run.folder / "tables").iterdir()] == ["new"]
    assert not (run.folder / "tables").is_symlink()
    assert (run.folder / RUN).exists()
