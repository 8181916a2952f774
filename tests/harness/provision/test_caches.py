"""Installations are complete, made once, and protected by a lock."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision.caches import cache_dir, installations, installed, locked
from testkit.codes import raises_code


def held(name: str) -> list[str]:
    return [path.name for path in (installations() / "kind" / name).iterdir()]


def test_environment_variables_set_the_place_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("KAFKA_TRIAL_CACHE", raising=False)
    assert cache_dir() == tmp_path / "xdg" / "kafka-trial"
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    assert cache_dir().is_dir()


def test_an_unwritable_cache_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "file" / "below"))
    with raises_code(EnvironmentProblem, "cache-not-writable", why="Not a directory") as caught:
        cache_dir()
    assert "KAFKA_TRIAL_CACHE" in str(caught.value.hint)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_concurrent_requests_build_an_installation_once(cache: Path) -> None:
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
        installed("kind", "name", build)

    threads = [
        threading.Thread(target=installed, args=("kind", "name", build)),
        threading.Thread(target=second),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert held("name") == ["thing"]


def test_a_lock_excludes_other_processes_until_its_process_ends(tmp_path: Path) -> None:
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
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
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


def test_a_failed_installation_leaves_nothing_and_can_be_retried(cache: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").touch()
        raise EnvironmentProblem("made-up", "no network")

    with pytest.raises(EnvironmentProblem):
        installed("kind", "name", fails)
    assert sorted(path.name for path in (installations() / "kind").iterdir()) == [".name.lock", ".name.used"]
    installed("kind", "name", lambda folder: (folder / "whole").touch())
    assert held("name") == ["whole"]


def test_a_partial_installation_is_replaced(cache: Path) -> None:
    partial = installations() / "kind" / ".name.partial"
    partial.mkdir(parents=True)
    (partial / "stale").touch()
    installed("kind", "name", lambda folder: (folder / "fresh").touch())
    assert held("name") == ["fresh"]


def test_an_installation_without_a_manifest_is_made_again(cache: Path) -> None:
    place = installations() / "kind" / "name"
    place.mkdir(parents=True)
    (place / "bad").touch()
    installed("kind", "name", lambda folder: (folder / "good").touch())
    assert held("name") == ["good"]


def test_a_missing_lock_is_reported_at_each_use(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        installed("kind", "client@1.0-0123", lambda folder: (folder / "thing").touch(), is_locked=False)
    installed("kind", "other@1.0-0123", lambda folder: (folder / "thing").touch())
    sentence = "client@1.0 has no committed lock: only its registry's own sums say what it is"
    assert [record.getMessage() for record in caplog.records] == [sentence] * 2
