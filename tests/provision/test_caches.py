"""Whole, once, under a lock."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.errors import EnvironmentProblem
from harness.provision.caches import cache_dir, installed, locked


def test_the_cache_is_where_one_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("KAFKA_TRIAL_CACHE", raising=False)
    assert cache_dir() == tmp_path / "xdg" / "kafka-trial"
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    assert cache_dir().is_dir()


def test_a_cache_that_cannot_be_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(EnvironmentProblem, match="cannot be written: Not a directory") as caught:
        cache_dir()
    assert "KAFKA_TRIAL_CACHE" in str(caught.value.hint)


def test_two_that_want_the_same_thing_build_it_once(tmp_path: Path) -> None:
    building, second_is_there = threading.Event(), threading.Event()
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        building.set()
        assert second_is_there.wait(20)
        (folder / "thing").touch()

    def second() -> None:
        assert building.wait(20)
        second_is_there.set()
        installed(tmp_path / "place", build)

    threads = [
        threading.Thread(target=installed, args=(tmp_path / "place", build)),
        threading.Thread(target=second),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["thing"]


def test_the_lock_holds_between_processes_and_ends_with_them(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from harness.provision.caches import locked\n"
            "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()",
            str(tmp_path / "place"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (tmp_path / ".place.lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        holder.kill()
        holder.communicate()
    with (
        locked(tmp_path / "place"),
        (tmp_path / ".place.lock").open() as lock,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_failed_installation_leaves_nothing_and_may_be_tried_again(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").touch()
        raise EnvironmentProblem("no network")

    with pytest.raises(EnvironmentProblem):
        installed(tmp_path / "place", fails)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".place.lock", ".place.used"]
    assert installed(tmp_path / "place", lambda folder: (folder / "whole").touch()) == tmp_path / "place"
    assert (tmp_path / "place" / "whole").exists()


def test_what_a_killed_installation_left_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / ".place.partial").mkdir()
    (tmp_path / ".place.partial" / "stale").touch()
    installed(tmp_path / "place", lambda folder: (folder / "fresh").touch())
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["fresh"]


def test_what_is_there_but_not_whole_is_replaced(tmp_path: Path) -> None:
    def is_whole(folder: Path) -> bool:
        return (folder / "good").exists()

    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "bad").touch()
    installed(tmp_path / "place", lambda folder: (folder / "good").touch(), whole=is_whole)
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["good"]
