"""Pruning a cache with planted links, pipes and folders deletes nothing outside the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.main import call
from harness.housekeeping import Kind, installed
from harness.provision import caches, uses
from harness.provision.caches import lock_file_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "file").write_text("mine")
    (folder / ".one.lock").touch()
    os.utime(folder / "one", (0, 0))
    return folder


def install(place: Path, build: Callable[[Path], None]) -> Path:
    return caches.installed(place.parent.name, place.name, build)


def put(place: Path) -> Path:
    """Create an installation that was last used in 1970."""
    install(place, lambda folder: (folder / "library").touch())
    uses.release(place)
    for path in (place, uses.mark_of(place)):
        os.utime(path, (0, 0))
    return place


def prune(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    code = call(["prune", "--unused-for", "30d", "--caches", "--json"])
    out, err = capsys.readouterr()
    assert "defect" not in err
    return code, [Path(row["path"]).name for row in json.loads(out)["removed"]], err


@pytest.mark.parametrize(
    "at", ["python", "go", "go/programs", "npm", "go/build", "installed", "installed/python"]
)
def test_linked_folders_of_the_cache_are_not_pruned(cache, victim, capsys, at) -> None:
    """The link leads to folders that look like installations."""
    (cache / at).parent.mkdir(parents=True)
    (victim / "programs").mkdir()
    (victim / "programs" / "two").mkdir()
    (victim / "programs" / ".two.lock").touch()
    (cache / at).symlink_to(victim)
    assert prune(capsys)[:2] == (0, [])
    assert (victim / "one" / "file").read_text() == "mine" and (victim / "programs" / "two").exists()


def test_cache_that_is_a_link_is_pruned(cache, tmp_path, capsys) -> None:
    (tmp_path / "disk").mkdir()
    cache.symlink_to(tmp_path / "disk")
    put(cache / "installed" / "python" / "old")
    assert prune(capsys)[1] == ["old"]


def test_link_targets_of_a_pruned_installation_are_kept(cache, victim, capsys) -> None:
    place = put(cache / "installed" / "node" / "old")
    (place / "to").symlink_to(victim)
    os.utime(place, (0, 0))
    assert prune(capsys)[1] == ["old"]
    assert (victim / "one" / "file").read_text() == "mine"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_installation_whose_mark_is_not_a_file_is_kept(cache, victim, capsys, kind) -> None:
    place = put(cache / "installed" / "python" / "old")
    for path in (uses.mark_of(place), lock_file_of(place)):
        path.unlink()
        if kind == "link":
            path.symlink_to(victim / "one" / "file")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    before = (victim / "one" / "file").stat().st_mtime_ns
    code, gone, said = prune(capsys)
    assert (code, gone) == (0, []) and "old: " in said
    install(place, lambda _: pytest.fail("it is there"))
    assert (victim / "one" / "file").stat().st_mtime_ns == before


def test_read_only_cache_can_be_used(cache, monkeypatch) -> None:
    place = put(cache / "installed" / "python" / "old")

    def refused(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        # Only root can mount a read-only disk.
        patch.setattr("harness.provision.lock_files.opened", refused)
        assert install(place, lambda _: pytest.fail("it is there")) == place
    assert not uses.is_used(place)


def test_using_process_is_reported_by_its_pid(cache) -> None:
    place = put(cache / "installed" / "python" / "old")
    argv = [sys.executable, "-c", "input()", f"{place}/\n::error::\x1b[2J"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as started:
        [thing] = [each for each in installed.found(cache) if each.kind is Kind.INSTALLATION]
        assert thing.stays == f"process {started.pid} runs from it"
        started.communicate(b"\n")
