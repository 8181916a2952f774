"""``kafka-trial prune`` on real folders: what it removes, keeps and reports."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from harness.cli.main import call
from harness.housekeeping import Found, Kind, installed, removal
from harness.housekeeping.runs import IN_USE as RUN_IN_USE
from harness.model.rows import SCHEMA_VERSION
from harness.model.spec import Plan
from harness.provision import caches, manifest, uses
from harness.running.cluster_session import ClusterSession
from harness.storage.run_store import RunRecord, RunStore
from testkit.codes import has_error

DAY_S = 86_400


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def run(runs: Path) -> Callable[..., Path]:
    """Return ``run(NAME, age_days)``, which makes a run that was last changed that long ago."""

    def made(name: str, age_days: float = 0) -> Path:
        store = RunStore.create(runs, RunRecord(name, "2026-01-01T00:00:00+00:00", Plan(1, ()), 1, {}, []))
        (store.folder / "trials" / "t").mkdir(parents=True)
        (store.folder / "trials" / "t" / "log.jsonl.zst").write_bytes(bytes(100_000))
        age(store.folder, age_days)
        return store.folder

    return made


def age(folder: Path, days: float) -> None:
    then_s = time.time() - days * DAY_S
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then_s, then_s), follow_symlinks=False)


@pytest.fixture
def prune(runs: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict, str]]:
    """Return ``prune(OPTION...)``, which returns the exit code, the document and the messages."""

    def pruned(*options: str) -> tuple[int, dict, str]:
        code = call(["prune", str(runs), "--json", *options])
        out, err = capsys.readouterr()
        return code, json.loads(out or "{}"), err

    return pruned


def names(document: dict, which: str) -> list[str]:
    return [Path(row["path"]).name for row in document[which]]


def test_runs_older_than_a_duration_are_removed(run, runs, prune) -> None:
    for name, days in (("a", 40), ("b", 31), ("c", 29)):
        run(name, days)
    code, told, said = prune("--older-than", "30d")
    assert (code, names(told, "removed"), names(told, "kept")) == (0, ["a", "b"], ["c"])
    assert told["size_bytes"] == sum(row["size_bytes"] for row in told["removed"]) > 200_000
    assert "removed 2 runs: " in said
    assert sorted(path.name for path in runs.iterdir()) == ["c", "latest"]


def test_all_but_the_last_runs_are_removed(run, runs, prune) -> None:
    for name, days in (("a", 1), ("b", 3), ("c", 2)):
        run(name, days)
    assert names(prune("--keep", "2")[1], "removed") == ["b"]
    code, told, _ = prune("--keep", "0", "--older-than", "36h")
    assert (code, names(told, "removed")) == (0, ["c"])


def test_a_dry_run_reports_the_same_and_removes_nothing(run, runs, prune) -> None:
    run("a", 40), run("b")
    before = {path: path.lstat().st_mtime_ns for path in runs.rglob("*")}
    _, tried, said = prune("--older-than", "1d", "--dry-run")
    whys = [kept.pop("why") for kept in tried["kept"]]  # they contain the age in seconds
    assert tried["dry_run"] and names(tried, "removed") == ["a"]
    assert "1 run: " in said and "removed" not in said
    assert {path: path.lstat().st_mtime_ns for path in runs.rglob("*")} == before
    _, done, _ = prune("--older-than", "1d")
    assert len(whys) == len([kept.pop("why") for kept in done["kept"]])
    assert {**tried, "dry_run": False} == done


def test_text_output_has_a_table_and_a_summary(run, runs, capsys) -> None:
    run("a", 40)
    (runs / "notes").mkdir()
    assert call(["prune", str(runs), "--keep", "0"]) == 0
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["what", "size", "unused", "for", "where"],
        ["run", *out.splitlines()[1].split()[1:3], "40", "d", str(runs / "a")],
    ]
    assert re.search(rf"(?m)^left: {re.escape(str(runs / 'notes'))}: .*\brun\.json$", err)
    assert "removed 1 run: " in err


def test_a_running_run_is_kept(run, runs, prune) -> None:
    run("a", 40)
    with RunStore(runs / "a").claimed():
        for is_dry in ("--dry-run",), ():
            code, told, said = prune("--keep", "0", *is_dry)
            assert (code, told["removed"]) == (0, [])
            assert f"a: {RUN_IN_USE}" in said
    assert names(prune("--keep", "0")[1], "removed") == ["a"]


def test_a_run_that_is_too_young_is_not_locked(run, prune) -> None:
    """A new run locks its folder soon after it has created it, and would find it locked."""
    with RunStore(run("a")).claimed():
        [kept] = prune("--keep", "1", "--older-than", "1d")[1]["kept"]
    assert Path(kept["path"]).name == "a" and RUN_IN_USE not in kept["why"]


def test_a_run_of_a_test_session_is_kept(runs, prune) -> None:
    record = RunRecord("a", "2026-01-01T00:00:00+00:00", Plan(1, ()), 1, {}, [])
    with ClusterSession(record, "local:4.3.1x1", runs):
        assert names(prune("--keep", "0")[1], "kept") == ["a"]
    assert names(prune("--keep", "0")[1], "removed") == ["a"]


def test_a_run_resumed_before_its_removal_is_kept(run, runs) -> None:
    folder = run("a", 40)
    thing = Found(Kind.RUN, folder, 0)
    with RunStore(folder).claimed(), pytest.raises(removal.InUse, match=RUN_IN_USE):
        removal.remove(thing)
    assert (folder / "run.json").exists()
    assert removal.remove(thing) == ""
    assert not folder.exists()


def test_a_run_claimed_between_search_and_removal_is_kept(run, runs, prune, monkeypatch) -> None:
    run("a", 40), run("b", 40)
    size_bytes, claims = removal.size_bytes, ExitStack()

    def resumed(path: Path) -> int:
        if path.name == "a":
            claims.enter_context(RunStore(path).claimed())
        return size_bytes(path)

    # The size is determined between the search and the removal, so that this is the moment in between.
    monkeypatch.setattr(removal, "size_bytes", resumed)
    with claims:
        code, told, said = prune("--keep", "0")
    assert (code, names(told, "removed"), names(told, "kept")) == (0, ["b"], ["a"])
    assert f"a: {RUN_IN_USE}" in said


def test_concurrent_prunes_remove_each_run_once(run, runs, prune) -> None:
    things = [Found(Kind.RUN, run(f"r{number}", 40), 0) for number in range(20)]

    def removed(_: int) -> list[str]:
        told = []
        for thing in things:
            with suppress(removal.InUse):
                told.append(removal.remove(thing))
        return told

    with ThreadPoolExecutor(8) as pool:
        assert {why for told in pool.map(removed, range(8)) for why in told} == {""}
    assert not [path for path in runs.iterdir() if path.is_dir()]


def test_a_new_file_in_a_run_makes_it_young(run, runs, prune) -> None:
    folder = run("a", 40)
    (folder / "report").mkdir()
    assert names(prune("--older-than", "1d")[1], "kept") == ["a"]


def test_latest_points_to_the_newest_remaining_run(run, runs, prune) -> None:
    run("20260101"), run("20260102"), run("20260103", 40)
    assert (runs / "latest").read_text() == "20260103\n"
    prune("--older-than", "30d")
    assert RunStore.open(runs).folder.name == "20260102"
    prune("--keep", "0")
    assert list(runs.iterdir()) == []


def test_latest_is_not_rewritten_if_its_run_remains(run, runs, prune) -> None:
    run("a", 40), run("b")
    (runs / "latest").write_text("b\n")
    before = (runs / "latest").lstat()
    prune("--older-than", "30d")
    after = (runs / "latest").lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_run_of_another_schema_version_is_removed(run, runs, prune) -> None:
    mark = run("a", 40) / "run.json"
    mark.write_text(
        mark.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 99, "new": []')
    )
    age(runs / "a", 40)
    assert names(prune("--older-than", "30d")[1], "removed") == ["a"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], ("nothing-to-prune",)),
        (["--older-than", "30"], ("not-a-duration", "'30'")),
        (["--keep", "-1"], ("bad-parameter", "'--keep'")),
    ],
)
def test_invalid_options_are_refused_and_remove_nothing(run, runs, prune, words, sentence) -> None:
    run("a", 40)
    code, _, said = prune(*words)
    assert code == 2 and has_error(said, *sentence)
    assert (runs / "a").exists()


def test_a_folder_without_runs_is_refused(run, runs, capsys) -> None:
    assert call(["prune", str(run("a", 40)), "--keep", "0"]) == 2
    assert has_error(capsys.readouterr().err, "run-not-runs-folder")
    assert call(["prune", str(runs / "nowhere"), "--keep", "0"]) == 2
    assert has_error(capsys.readouterr().err, "cannot-read")


def test_a_missing_default_folder_is_not_an_error(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(["prune", "--keep", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == []


# Installations and caches.


def install(place: Path, build: Callable[[Path], None]) -> Path:
    return caches.installed(place.parent.name, place.name, build)


def put(cache: Path, name: str, days: float, held: bool = False) -> Path:
    """Make an installation that was last used that long ago."""
    place = cache / "installed" / name
    install(place, lambda folder: (folder / "library").write_bytes(bytes(50_000)))
    if not held:
        uses.release(place)
    then_s = time.time() - days * DAY_S
    age(place, days)
    os.utime(uses.mark_of(place), (then_s, then_s))
    return place


def test_unused_installations_are_removed(cache, prune) -> None:
    old, young = put(cache, "python/old", 100), put(cache, "go/young", 10)
    code, told, _ = prune("--unused-for", "90d")
    assert (code, names(told, "removed"), names(told, "kept")) == (0, ["old"], ["young"])
    assert not old.exists() and young.exists()
    assert install(old, lambda folder: (folder / "again").touch()) == old
    uses.release(old)


def test_installations_of_older_versions_are_removed(cache, prune) -> None:
    old = cache / "go" / "programs" / "old"
    old.mkdir(parents=True)
    old.with_name(".old.lock").touch()
    age(old, 100)
    assert names(prune("--unused-for", "90d")[1], "removed") == ["old"]


def test_the_manifest_is_removed_with_its_installation(cache, prune) -> None:
    place = put(cache, "python/old", 100)
    prune("--unused-for", "90d")
    assert sorted(path.name for path in place.parent.iterdir()) == [".old.lock", ".old.used"]


def test_use_resets_the_age_of_an_installation(cache, prune) -> None:
    place = put(cache, "node/kafkajs", 100)
    install(place, lambda _: pytest.fail("it is there"))
    uses.release(place)
    assert names(prune("--unused-for", "90d")[1], "kept") == ["kafkajs"]


def test_an_installation_in_use_is_kept(cache, prune) -> None:
    place = put(cache, "python/old", 100, held=True)
    try:
        code, told, said = prune("--unused-for", "90d")
        assert (code, told["removed"]) == (0, []) and f"old: {installed.IN_USE}" in said
        with pytest.raises(removal.InUse, match=installed.IN_USE):
            removal.remove(Found(Kind.INSTALLATION, place, 0))
        assert (place / "library").exists()
    finally:
        uses.release(place)


def test_an_installation_requested_during_its_removal_is_made_again(cache) -> None:
    """The lock of the removing process keeps the other process from finding the old installation."""
    place = put(cache, "python/old", 100)
    program = (
        "from harness.provision.caches import installed\n"
        "print('asks', flush=True)\n"
        "installed('python', 'old', lambda folder: (folder / 'anew').touch())"
    )
    with uses.alone(place):
        other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert other.stdout is not None and other.stdout.readline() == b"asks\n"
        manifest.path_of(place).unlink()
        shutil.rmtree(place)
    other.communicate()
    assert [path.name for path in place.iterdir()] == ["anew"]


def test_an_installation_that_a_program_runs_from_is_kept(cache, prune) -> None:
    place = put(cache, "python/old", 100)
    program = [sys.executable, "-c", "input()", str(place / "program")]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as started:
        assert f"old: process {started.pid} runs from it" in prune("--unused-for", "90d")[2]
        assert list(installed.users_of([place, cache / "installed" / "python" / "ol"])) == [place]
        started.communicate(b"\n")
    assert names(prune("--unused-for", "90d")[1], "removed") == ["old"]


def test_caches_are_removed_on_request_unless_something_is_being_installed(cache, prune) -> None:
    put(cache, "python/young", 0)
    for name in ("npm", "go/build"):
        (cache / name / "some").mkdir(parents=True)
    (cache / "go" / ".modules.removed").mkdir()
    assert names(prune("--unused-for", "90d")[1], "removed") == []
    with (cache / "installed" / "python" / ".young.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "npm: something is being installed" in prune("--caches")[2]
    code, told, said = prune("--caches")
    assert (code, names(told, "removed")) == (0, ["build", ".modules.removed", "npm"])
    assert "removed 3 caches" in said
    assert not (cache / "npm").exists() and (cache / "installed" / "python" / "young").exists()


def test_foreign_files_in_the_cache_are_kept(cache, prune) -> None:
    put(cache, "python/ours", 100)
    (cache / "installed" / "python" / "theirs").mkdir()
    (cache / "installed" / "python" / "link").symlink_to(cache / "installed" / "python" / "ours")
    (cache / "photos").mkdir()
    _, told, said = prune("--unused-for", "1s")
    assert names(told, "removed") == ["ours"]
    whys = {Path(row["path"]).name: row["why"] for row in told["kept"]}
    assert whys.keys() == {"theirs", "link"}
    assert "lock" in whys["theirs"] and "link" in whys["link"]
    assert all(f"{name}: {why}" in said for name, why in whys.items())
    assert sorted(path.name for path in cache.iterdir()) == ["installed", "photos"]


def test_a_missing_cache_is_not_an_error(cache, prune) -> None:
    assert prune("--unused-for", "1s", "--caches")[:2] == (
        0,
        {"dry_run": False, "size_bytes": 0, "removed": [], "failed": [], "kept": []},
    )
    assert not cache.exists()
