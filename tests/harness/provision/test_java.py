"""Java 17 or later is found or installed, or the error names the command that installs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision.java import ensure_java, find_java
from testkit.codes import raises_code

OFFERS = "echo openjdk-11-jre-headless - old; echo openjdk-25-jre-headless - new; echo openjdk-21-jre-headless - fits"


def test_java_home_comes_before_path(machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has_java("17.0.15")
    home = tmp_path / "jdk"
    machine.has_java("21", home / "bin")
    assert find_java().version == 17
    monkeypatch.setenv("JAVA_HOME", str(home))
    java = find_java()
    assert (java.path, java.version, java.home) == (home / "bin" / "java", 21, home)


@pytest.mark.parametrize(("said", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("16-ea", 16)])
def test_an_old_java_is_not_used_but_named(machine: Any, said: str, major: int) -> None:
    machine.has_java(said)
    with raises_code(EnvironmentProblem, "java-missing", found=re.compile(rf"\b{major}\b")):
        find_java()


def test_an_old_java_home_does_not_hide_a_newer_java(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has_java("11", tmp_path / "jdk" / "bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    machine.has_java("17")
    assert find_java().version == 17


def test_a_broken_java_is_not_used(machine: Any) -> None:
    machine.has("java", "echo cannot; exit 1")
    with raises_code(EnvironmentProblem, "java-missing"):
        find_java()


@pytest.mark.parametrize(
    ("euid", "offers", "command"),
    [
        (0, "true", "apt-get install -y openjdk-17-jre-headless"),
        (0, OFFERS, "apt-get install -y openjdk-21-jre-headless"),
        (1000, OFFERS, "sudo apt-get install -y openjdk-21-jre-headless"),
    ],
)
def test_the_hint_is_the_command_that_installs_java(
    machine: Any, user_is: Any, euid: int, offers: str, command: str
) -> None:
    machine.has("apt-get", "false")
    machine.has("apt-cache", offers)
    user_is(euid)
    with raises_code(EnvironmentProblem, "java-missing", needed=17) as caught:
        find_java()
    assert caught.value.hint == command


def test_java_is_installed_with_the_rights_to_do_so(machine: Any, user_is: Any) -> None:
    source = machine.has_java("21", machine.bin.parent / "archive")
    machine.has(
        "apt-get", f'case "$*" in *install*openjdk-21-jre-headless) cp {source} {machine.bin}/java;; esac'
    )
    machine.has("apt-cache", OFFERS)
    user_is(0)
    assert ensure_java().version == 21


def test_a_failed_installation_names_the_cause(machine: Any, user_is: Any) -> None:
    machine.has("apt-get", 'case "$*" in *install*) echo "E: no space"; echo bye; exit 100;; esac')
    user_is(0)
    with raises_code(EnvironmentProblem, "install-failed", why="E: no space"):
        ensure_java()


def test_nothing_is_installed_without_the_rights(machine: Any, user_is: Any) -> None:
    machine.has("apt-get", f"touch {machine.bin}/called")
    machine.has("sudo", "exit 1")
    user_is(1000)
    with raises_code(EnvironmentProblem, "java-missing"):
        ensure_java()
    assert not (machine.bin / "called").exists()
