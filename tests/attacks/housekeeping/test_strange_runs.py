"""Pruning folders of runs with planted links, files and names removes only runs, and nothing outside the folder."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call
from harness.housekeeping import Found, Kind, removal, runs
from harness.model.spec import Plan
from harness.storage.run_store import RunRecord, RunStore

pytestmark = pytest.mark.long("prunes many folders of runs")

OTHER_USER = 65_534
DEPTH = 3_000


@pytest.fixture
def runs_folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Return a folder of other files. The fixture asserts that the test does not change it."""
    folder = tmp_path / "outside"
    (folder / "photos").mkdir(parents=True)
    (folder / "photos" / "one").write_text("one")
    run(folder, "20250101")
    before = snapshot(folder)
    yield folder
    assert snapshot(folder) == before


def snapshot(folder: Path) -> dict[Path, Any]:
    statuses = {path: path.lstat() for path in (folder, *folder.rglob("*"))}
    return {path: (each.st_mode, each.st_size, each.st_mtime_ns) for path, each in statuses.items()}


def run(folder: Path, name: str) -> Path:
    store = RunStore.create(folder, RunRecord(name, "2026-01-01T00:00:00+00:00", Plan(1, ()), 1, {}, []))
    (store.folder / "trials" / "t").mkdir(parents=True)
    return store.folder


@pytest.fixture
def prune(runs_folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str], str]]:
    """Return a function that prunes all runs and returns the exit code, the removed names and stderr."""

    def pruned() -> tuple[int, list[str], str]:
        code = call(["prune", str(runs_folder), "--keep", "0", "--json"])
        out, err = capsys.readouterr()
        assert "defect" not in err
        return code, [Path(row["path"]).name for row in json.loads(out)["removed"]], err

    return pruned


def test_links_are_not_pruned(runs_folder, outside, prune) -> None:
    run(runs_folder, "20260101")
    for name, target in {
        "20260102": "20250101",
        "20260103": "photos",
        "20260104": "nowhere",
        "5": ".",
    }.items():
        (runs_folder / name).symlink_to(outside / target)
    code, removed, err = prune()
    assert (code, removed) == (0, ["20260101"])
    assert err.count("it is a link") == 4


def test_link_targets_of_a_pruned_run_are_kept(runs_folder, outside, prune) -> None:
    folder = run(runs_folder, "20260101")
    shutil.rmtree(folder / "trials")
    (folder / "trials").symlink_to(outside)
    for at, target in {
        "a": outside / "photos",
        "b": outside / "photos" / "one",
        "c": folder,
        "d": Path("/"),
    }.items():
        (folder / at).symlink_to(target)
    (folder / "inner").mkdir()
    (folder / "inner" / "up").symlink_to("../../../outside/photos")
    os.link(outside / "photos" / "one", folder / "hard")
    assert prune()[:2] == (0, ["20260101"])
    assert not folder.exists()


def test_deep_and_unwritable_folders_are_pruned(runs_folder, prune) -> None:
    folder = run(runs_folder, "20260101")
    at = os.open(folder, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("deeper", dir_fd=at)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    (folder / "trials" / "t").chmod(0)
    (folder / "trials").chmod(0o500)
    assert prune()[:2] == (0, ["20260101"])
    assert not folder.exists()


def test_files_pipes_and_sockets_are_not_pruned(runs_folder, prune) -> None:
    run(runs_folder, "20260101")
    (runs_folder / "20260102").write_text("a file")
    os.mkfifo(runs_folder / "20260103")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(runs_folder / "20260104"))
    code, removed, err = prune()
    assert (code, removed) == (0, ["20260101"])
    assert err.count("it is not a folder") == 3


MARKS: dict[str, Callable[[Path, Path], object]] = {
    "none": lambda mark, outside: mark.unlink(),
    "a pipe": lambda mark, outside: (mark.unlink(), os.mkfifo(mark)),
    "a folder": lambda mark, outside: (mark.unlink(), mark.mkdir()),
    "a link to one": lambda mark, outside: (
        mark.unlink(),
        mark.symlink_to(outside / "20250101" / "run.json"),
    ),
    "a loop": lambda mark, outside: (mark.unlink(), mark.symlink_to(mark)),
    "a device": lambda mark, outside: (mark.unlink(), mark.symlink_to("/dev/zero")),
    "terabytes": lambda mark, outside: os.truncate(mark, 2**40),
    "nothing": lambda mark, outside: mark.write_text(""),
    "another program's": lambda mark, outside: mark.write_text('{"run_id": 7, "name": "job"}'),
    "depth": lambda mark, outside: mark.write_text('{"run_id":' + "[" * 100_000),
    "no text": lambda mark, outside: mark.write_bytes(b'{"run_id": "\xff\xfe"}'),
}


@pytest.mark.parametrize("mark", MARKS)
def test_folder_without_valid_run_json_is_kept(runs_folder, outside, prune, mark) -> None:
    run(runs_folder, "20260101")
    MARKS[mark](run(runs_folder, "20260102") / "run.json", outside)
    code, removed, err = prune()
    assert (code, removed) == (0, ["20260101"])
    assert err.count("left: ") == 1 and "run.json" in err
    assert (runs_folder / "20260102" / "trials" / "t").exists()


STRANGE = (
    "two\nlines",
    "::error file=x::y",
    "\x1b]0;title\x07",
    "\x1b[2J",
    "x[/]",
    "[bold]",
    "-rf",
    "--keep=0",
    ".hidden",
    "a b",
    "‮txt",
    b"\xff\xfe".decode(errors="surrogateescape"),
    "n" * 255,
)


@pytest.mark.parametrize("as_table", [True, False])
def test_strange_names_are_shown_on_one_line_and_kept(runs_folder, capsys, as_table) -> None:
    run(runs_folder, "20260101")
    for name in STRANGE:
        shutil.copytree(runs_folder / "20260101", runs_folder / name)
    assert call(["prune", str(runs_folder), "--keep", "0", *([] if as_table else ["--json"])]) == 0
    out, err = capsys.readouterr()
    kept = len(STRANGE) - sum(
        name in ("-rf", "n" * 255) for name in STRANGE
    )  # these two could be names of runs
    assert len(err.splitlines()) == kept + 1
    assert all(character.isprintable() or character == "\n" for character in out + err)
    assert not any(line.startswith("::") for line in (out + err).splitlines())
    assert sum(path.is_dir() for path in runs_folder.iterdir()) == kept


@pytest.mark.parametrize("content", ["../../outside/20250101", "", "/etc/passwd", "a\nb", "x" * 5_000, "."])
def test_latest_that_names_another_path_is_not_followed(runs_folder, outside, prune, content) -> None:
    run(runs_folder, "20260101")
    (runs_folder / "latest").write_text(content)
    assert prune()[:2] == (0, ["20260101"])
    assert (runs_folder / "latest").read_text() == content


@pytest.mark.parametrize("kind", ["link", "pipe", "terabytes"])
def test_latest_that_is_not_a_small_file_is_kept(runs_folder, outside, prune, kind) -> None:
    run(runs_folder, "20260101")
    latest = runs_folder / "latest"
    latest.unlink()
    if kind == "link":
        latest.symlink_to(outside / "photos" / "one")
    elif kind == "pipe":
        os.mkfifo(latest)
    else:
        latest.touch()
        os.truncate(latest, 2**40)
    before = latest.lstat().st_ino
    assert prune()[1] == ["20260101"]
    assert latest.lstat().st_ino == before


def test_runs_with_extreme_times_are_pruned(runs_folder, prune) -> None:
    for name, at_s in {"20260101": 2**34, "20260102": -(2**31), "20260103": 10**17}.items():
        folder = run(runs_folder, name)
        try:
            os.utime(folder, (at_s, at_s))
        except OverflowError:
            pass
    assert prune()[:2] == (0, ["20260101", "20260102", "20260103"])


def test_run_replaced_by_a_link_before_removal_is_not_followed(runs_folder, outside) -> None:
    folder = run(runs_folder, "20260101")
    thing = Found(Kind.RUN, folder, 0)
    folder.rename(runs_folder / "moved")
    folder.symlink_to(outside / "20250101")
    assert "could not be removed completely" in removal.remove(thing)
    assert folder.is_symlink()


def test_run_replaced_by_a_link_during_removal_is_not_followed(runs_folder, outside, monkeypatch) -> None:
    folder, claimed = run(runs_folder, "20260101"), runs.claimed

    @contextmanager
    def swapped(path: Path) -> Iterator[int]:
        with claimed(path) as descriptor:
            folder.rename(runs_folder / "moved")
            folder.symlink_to(outside / "20250101")
            yield descriptor

    # The race between the claim and the removal cannot be won reliably with a second process.
    monkeypatch.setitem(removal.WAYS, Kind.RUN, (swapped, removal.WAYS[Kind.RUN][1]))
    assert "could not be removed completely" in removal.remove(Found(Kind.RUN, folder, 0))
    assert list((runs_folder / "moved").iterdir()) == []


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Return a folder that every user can enter, unlike the folders of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="kafka-trial-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def without_rights() -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can change the user")
    os.seteuid(OTHER_USER)
    try:
        yield
    finally:
        os.seteuid(0)


def test_run_that_cannot_be_removed_is_kept_and_reported(shared_folder) -> None:
    folder = run(shared_folder / "runs", "20260101")
    (shared_folder / "runs").chmod(0o755)
    with without_rights():
        assert removal.remove(Found(Kind.RUN, folder, 0)).endswith("runs cannot be written")
    assert (folder / "run.json").exists() and (folder / "trials" / "t").exists()


def test_partly_removed_run_is_still_a_run(shared_folder) -> None:
    folder = run(shared_folder / "runs", "20260101")
    (folder / "trials" / "t" / "theirs").write_text("")
    for path, mode in ((shared_folder / "runs", 0o777), (folder, 0o777), (folder / "trials", 0o755)):
        path.chmod(mode)
    with without_rights():
        assert "Permission denied" in removal.remove(Found(Kind.RUN, folder, 0))
    assert (folder / "run.json").exists()
    assert [each.kind for each in runs.found(shared_folder / "runs")] == [Kind.RUN]


def test_unreadable_run_does_not_prevent_pruning_of_others(shared_folder) -> None:
    for name in ("20260101", "20260102"):
        run(shared_folder / "runs", name)
    (shared_folder / "runs").chmod(0o755)
    for path in (shared_folder / "runs" / "20260102", shared_folder / "runs" / "20260102" / "run.json"):
        path.chmod(0o755)
    (shared_folder / "runs" / "20260101").chmod(0)
    with without_rights():
        first, second = runs.found(shared_folder / "runs")
    assert (first.kind, second.kind) == (Kind.STRANGER, Kind.RUN)


def test_failed_removal_does_not_stop_others_and_exits_with_3(runs_folder, monkeypatch, prune) -> None:
    for name in ("20260101", "20260102", "20260103"):
        run(runs_folder, name)
    unlink = os.unlink

    def refused(path, *, dir_fd=None) -> None:
        if (
            path == "run.json"
            and dir_fd is not None
            and "20260102" in str(Path(f"/proc/self/fd/{dir_fd}").readlink())
        ):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        unlink(path, dir_fd=dir_fd)

    # No file mode makes the removal of one file fail for root.
    monkeypatch.setattr(os, "unlink", refused)
    code, removed, err = prune()
    assert (code, removed) == (3, ["20260101", "20260103"])
    assert re.search(rf"(?m)^.*\b20260102: .*{os.strerror(errno.EROFS)}", err)
    assert (runs_folder / "latest").read_text() == "20260102\n"
