"""Java 17 or later: the only prerequisite of the machine (Kafka's brokers and Spark run on it)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.environment import find_program
from harness.provision.tools import attempt, excerpt

OLDEST = 17
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Java:
    """A Java launcher and the major version that it starts."""

    path: Path
    version: int

    @property
    def home(self) -> Path:
        """The value of ``JAVA_HOME`` with which Spark starts this Java."""
        return self.path.resolve().parent.parent


def find_java() -> Java:
    """Return the first Java 17+ of ``JAVA_HOME`` and PATH. Raises EnvironmentProblem if there is none."""
    seen = []
    for path in _launchers():
        version = _version(path)
        if version is not None and version >= OLDEST:
            return Java(path, version)
        seen.append(f"{path} is {f'Java {version}' if version else 'broken'}")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise EnvironmentProblem(
        "java-missing",
        "Java {needed} or later was not found by JAVA_HOME or PATH{found}",
        hint=install_hint(),
        needed=OLDEST,
        found=found,
    )


def _launchers() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home and Path(home).is_absolute() and (Path(home) / "bin" / "java").exists():
        yield Path(home) / "bin" / "java"
    if on_path := find_program("java"):
        yield on_path


def _version(java: Path) -> int | None:
    try:
        said = attempt([java, "-version"], tool="java", timeout_s=30).output
    except EnvironmentProblem:
        return None
    number = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(number[1]) if number else None


def install_hint() -> str:
    """Return the command that installs Java, or advice if the command is not known."""
    if find_program("apt-get"):
        return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {_package()}"
    return "install a Java 17 runtime with this system's package manager, or let JAVA_HOME name one"


def _package() -> str:
    """Return the oldest suitable headless runtime of this distribution (Debian 12: 17, Debian 13: 21)."""
    try:
        said = attempt(
            ["apt-cache", "search", "--names-only", r"^openjdk-[0-9]+-jre-headless$"], timeout_s=60
        ).output
    except EnvironmentProblem:
        said = ""
    offered = sorted(int(number) for number in re.findall(r"^openjdk-(\d+)-jre-headless", said, re.MULTILINE))
    return f"openjdk-{next((n for n in offered if n >= OLDEST), OLDEST)}-jre-headless"


def ensure_java() -> Java:
    """Return Java 17+, after installing it from the distribution if necessary. EnvironmentProblem: not permitted."""
    try:
        return find_java()
    except EnvironmentProblem:
        if not find_program("apt-get") or (as_root := _as_root()) is None:
            raise
    quiet, env = [*as_root, "apt-get", "-qq"], {"DEBIAN_FRONTEND": "noninteractive"}
    attempt([*quiet, "update"], env=env, timeout_s=300)
    package = _package()
    log.info("installing %s", package)
    ended = attempt([*quiet, "install", "-y", "--no-install-recommends", package], env=env, timeout_s=900)
    if ended.returncode != 0:
        why = excerpt(ended.output, "E: ")
        raise EnvironmentProblem(
            "install-failed",
            "{package} could not be installed: {why}",
            hint=install_hint(),
            package=package,
            why=why,
        )
    return find_java()


def _as_root() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    may = find_program("sudo") and attempt(["sudo", "-n", "true"], timeout_s=10).returncode == 0
    return ["sudo", "-n"] if may else None
