"""Links, pipes and folders at the names that kafka-trial writes to, full disks, umasks, and concurrent writers."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import resource
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from harness import files
from harness.files import writing
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.run_files import LATEST, RUN, VERDICT
from harness.model.spec import Plan
from harness.running import defects
from harness.storage.run_store import RunRecord, RunStore
from testkit.codes import has_error, raises_code

from .conftest import first

pytestmark = pytest.mark.long("judges a run for each failure of the disk")

PROCESSES = 16
PLANTED = ("pipe", "link", "broken link", "link to a folder", "socket", "hard link", "sparse file")
BY_JUDGE = ("results.jsonl", "findings.json", "junit.xml", "summary.md")


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.parametrize("name", first(BY_JUDGE))
def test_planted_export_is_replaced_and_not_written_through(run, outside, command, plant, name, what) -> None:
    plant(run.folder / name, what, outside)
    assert command("judge", run.folder).code == 0
    assert (run.folder / name).lstat().st_mode == 0o100600
    assert (run.folder / name).lstat().st_nlink == 1


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.parametrize("name", first([*BY_JUDGE, RUN]))
def test_no_guessable_name_is_written_to(run, outside, command, plant, name, what) -> None:
    for guess in (f".{name}.partial", f".{name}.tmp", f"{name}~"):
        plant(run.folder / guess, what, outside)
    assert command("judge", run.folder).code == 0


@pytest.mark.parametrize("what", PLANTED)
def test_planted_verdict_is_replaced_and_not_written_through(
    run, trial, outside, command, plant, what
) -> None:
    plant(trial / VERDICT, what, outside)
    assert command("judge", run.folder).code == 0
    assert (trial / VERDICT).lstat().st_mode == 0o100600


@pytest.mark.parametrize("what", ["folder", "full folder"])
@pytest.mark.parametrize("name", first(BY_JUDGE))
def test_folder_in_place_of_export_is_kept_and_an_error(run, outside, command, plant, name, what) -> None:
    plant(run.folder / name, what, outside)
    ended = command("judge", run.folder)
    assert ended.code == 3 and has_error(
        ended.error_line, "cannot-write", run.folder / name, "Is a directory"
    )
    assert (run.folder / name).is_dir() and not partials(run.folder)


@pytest.mark.parametrize("what", ["link to a folder", "file", "pipe"])
def test_begin_replaces_planted_trial_folder(run, trial, outside, plant, what) -> None:
    plant(trial, what, outside)
    run.begin(trial.name)
    assert trial.lstat().st_mode == 0o40700 and not list(trial.iterdir())


@pytest.mark.parametrize("what", ["link to a folder", "file", "pipe"])
@pytest.mark.parametrize("name", ["trials", "logs"])
def test_no_folder_is_created_through_a_link(run, trial, outside, plant, name, what) -> None:
    plant(run.folder / name, what, outside)
    with raises_code(EnvironmentProblem, "cannot-write", why=re.compile(name)):
        run.begin(trial.name) if name == "trials" else run.make_folder(run.folder / "logs" / "brokers")


def test_no_folder_is_created_outside_the_run(run) -> None:
    with raises_code(EnvironmentProblem, "cannot-write", why=re.compile(r"leads out of its folder")):
        run.make_folder(run.folder / "logs" / ".." / ".." / "else")


def test_folder_swapped_for_link_while_written_is_not_followed(run, trial, outside) -> None:
    """The folder is replaced by a link between the creation of the file and its rename."""
    with files.new_file(trial / "new", run.folder) as file:
        trial.rename(trial.with_name("away"))
        trial.symlink_to(outside)
        file.write(b"evidence")
    assert (trial.with_name("away") / "new").read_bytes() == b"evidence"


def test_link_created_before_rename_is_replaced(tmp_path, outside) -> None:
    with files.new_file(tmp_path / "new") as file:
        (tmp_path / "new").symlink_to(outside / "file")
        file.write(b"ours")
    assert not (tmp_path / "new").is_symlink() and (tmp_path / "new").read_bytes() == b"ours"


def test_existing_temporary_name_is_not_written_to(tmp_path, outside, monkeypatch) -> None:
    # A random name cannot be planted in advance.
    monkeypatch.setattr(writing, "token_hex", lambda _: "known")
    (tmp_path / ".known.partial").symlink_to(outside / "file")
    with raises_code(EnvironmentProblem, "cannot-write", why="File exists"):
        files.write_whole(tmp_path / "new", b"ours")


@pytest.mark.parametrize("what", ["pipe", "link", "broken link", "folder", "device"])
def test_log_is_appended_to_regular_files_only(tmp_path, outside, plant, what) -> None:
    plant(tmp_path / "node-1.log", what, outside)
    with pytest.raises(OSError, match=r"Too many levels|not a regular file|Is a directory|No such device"):
        files.open_log(tmp_path / "node-1.log")


@pytest.mark.parametrize("what", ["link to a folder", "broken link", "folder", "full folder", "file", "pipe"])
def test_run_is_not_created_in_an_existing_place(tmp_path, outside, plant, what) -> None:
    """Another process can guess the name of a run."""
    (tmp_path / "new").mkdir()
    plant(tmp_path / "new" / "run", what, outside)
    with raises_code(UsageError, "run-exists"):
        RunStore.create(tmp_path / "new", RunRecord("run", "", Plan(1, ()), 1, {}, []))
    assert not (tmp_path / "new" / LATEST).exists()


@pytest.mark.parametrize("what", ["link to a folder", "file"])
def test_traceback_is_not_written_through_a_link(run, trial, outside, plant, what) -> None:
    plant(trial, what, outside)
    assert "a defect of kafka-trial" in defects.told(ValueError("x"), trial)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_run_is_readable_by_its_user_only(tmp_path, evidence) -> None:
    source = RunStore(evidence)
    store = RunStore.create(tmp_path / "new" / "runs", source.record)
    for verdict in source.verdicts():
        store.begin(verdict.trial)
        store.write_evidence(source.read_evidence(verdict.trial))
        store.write_verdict(verdict)
    store.make_folder(store.folder / "logs" / "brokers")
    with files.open_log(store.folder / "logs" / "brokers" / "node-1.log") as log:
        log.write(b"up\n")
    for path in (tmp_path / "new", *(tmp_path / "new").rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def partials(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*") if path.suffix in (".partial", ".building")]


@contextmanager
def limited_file_size(most_bytes: int) -> Iterator[None]:
    """Limit the size of files, as a disk that is nearly full does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_file_that_does_not_fit_keeps_previous_one(run, command) -> None:
    assert command("judge", run.folder).code == 0
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    with limited_file_size(100):
        ended = command("judge", run.folder)
    assert (
        ended.code == 3
        and has_error(ended.error_line, "cannot-write")
        and has_error(ended.error_line, "cannot-write", "File too large")
    )
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", first(["fsync", "rename", "open"]))
def test_disk_error_is_one_sentence_and_leaves_no_partial_file(
    run, command, monkeypatch, call, number
) -> None:
    call_of_os = getattr(os, call)

    def failing(*args, **more):
        if call != "open" or args[1] & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return call_of_os(*args, **more)

    # The disk cannot be made to fail in one system call with a given error.
    monkeypatch.setattr(writing.os, call, failing)
    ended = command("judge", run.folder)
    monkeypatch.undo()
    assert ended.code == 3 and os.strerror(number) in ended.error_line
    assert not partials(run.folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk_is_an_error_and_leaves_no_partial_file(small_disk, evidence, command, tmp_path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode(RunStore(evidence).record.plan))
    ended = command("replay", plan, "--out-dir", small_disk, "-q")
    assert ended.code == 3 and has_error(ended.error_line, "cannot-write", "No space left on device")
    assert not partials(small_disk)


def test_read_only_disk_is_an_error(small_disk, evidence, command, tmp_path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode(RunStore(evidence).record.plan))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    ended = command("replay", plan, "--out-dir", small_disk, "-q")
    assert ended.code == 3 and has_error(ended.error_line, "cannot-write", "Read-only file system")


def begin_and_end(folder: Path, number: int, rounds: int) -> list[str]:
    """Create, open and stop runs, as one of several processes, and return the errors."""
    wrong = []
    for turn in range(rounds):
        name = f"run-{number}-{turn}"
        try:
            store = RunStore.create(
                folder, RunRecord(name, "2026-01-01T00:00:00+00:00", Plan(1, ()), 1, {}, [])
            )
            latest = RunStore.open(folder).record
            store.stop("completed")
            if not latest.run_id.startswith("run-") or store.record.stop_reason != "completed":
                wrong.append(f"{name}: {latest.run_id}")
        except Exception as error:
            wrong.append(f"{name}: {error!r}")
    return wrong


def concurrently(work: Callable[..., list[str]], folder: Path, rounds: int) -> list[str]:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(PROCESSES, context) as pool:
        each = [pool.submit(work, folder, number, rounds) for number in range(PROCESSES)]
        return [error for one in each for error in one.result()]


@pytest.mark.parametrize(
    "rounds", [5, pytest.param(200, marks=pytest.mark.long("judges a run for each failure of the disk"))]
)
def test_processes_create_and_stop_runs_concurrently(tmp_path, rounds) -> None:
    folder = tmp_path / "runs"
    assert concurrently(begin_and_end, folder, rounds) == []
    assert sum(path.is_dir() for path in folder.iterdir()) == PROCESSES * rounds
    assert not partials(folder)
    assert (folder / LATEST).read_text().startswith("run-")


def rewrite(folder: Path, number: int, rounds: int) -> list[str]:
    """Write the same file repeatedly, as one of several processes, and return the errors and incomplete reads."""
    wrong = []
    for _ in range(rounds):
        try:
            files.write_whole(folder / "summary.md", b"%d\n" % number * 10_000)
            lines = set(files.read_stored(folder / "summary.md").splitlines())
            wrong += [] if len(lines) == 1 else [f"{lines}"]
        except (EnvironmentProblem, UsageError, OSError) as error:
            wrong.append(repr(error))
    return wrong


def test_processes_write_one_file_concurrently(tmp_path) -> None:
    assert concurrently(rewrite, tmp_path, 10) == []
    assert [path.name for path in tmp_path.iterdir()] == ["summary.md"]
