"""Cargo, and the compilers for its builds: those of the machine.

A crate that bundles a C library also needs a C compiler, a C++ compiler and make. None of these is installed here.

Each build has its own home for cargo's downloads, because cargo checks a crate only when it downloads it. The user's
cargo settings (the source of crates, and its password) are linked into that home.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from harness.model.errors import EnvironmentProblem
from harness.provision.environment import find_program, search_path
from harness.provision.tools import Ended, attempt, excerpt

#: Debian 13's version, and the rust-version of the project's packages: cargo then selects no crate that requires a
#: later one.
OLDEST = (1, 85)
TIMEOUT_S = 3_600  # a build takes minutes, and much longer on a busy machine

_SETTINGS = ("config.toml", "credentials.toml")

#: The tools that a build calls, with Debian's package for each.
_PACKAGES = {"cargo": "cargo", "rustc": "cargo", "cc": "gcc", "c++": "g++", "make": "make"}


@dataclass(frozen=True)
class Cargo:
    """A cargo executable. ``builds_with`` is the version output of the compilers."""

    path: Path
    builds_with: str

    def run(self, home: Path, *words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
        """Run it to its end, with its files in ``home``."""
        home.mkdir(exist_ok=True)
        for name in _SETTINGS:
            theirs, ours = cargo_home() / name, home / name
            if theirs.is_file() and not ours.is_symlink():
                ours.symlink_to(theirs.absolute())
        return _run(self.path, *words, env={**(env or {}), "CARGO_HOME": str(home)})


def find_cargo() -> Cargo:
    """Return the machine's cargo, from PATH or from rustup's folder.

    Raises EnvironmentProblem if it is missing, too old or broken, or if another of the tools is missing.
    """
    found = {tool: which(tool, path=_search_path()) for tool in _PACKAGES}
    missing = [tool for tool, path in found.items() if path is None]
    if missing:
        raise EnvironmentProblem(
            "tool-missing",
            "building programs in Rust needs {missing}, which is not on PATH or in {folder}",
            hint=install_hint(missing),
            missing=tuple(missing),
            folder=cargo_home() / "bin",
        )
    rust = _run(str(found["rustc"]), "-vV")
    c = _run(str(found["cc"]), "--version")
    release = re.search(r"^release: (\d+)\.(\d+)", rust.output, re.MULTILINE)
    if release is None:
        why = excerpt(rust.output, "error")
        raise EnvironmentProblem(
            "tool-broken",
            "{program} does not work: {why}",
            hint="rustup default stable",
            program=found["rustc"],
            why=why,
        )
    if (int(release[1]), int(release[2])) < OLDEST:
        raise EnvironmentProblem(
            "tool-too-old",
            "building programs in Rust needs Rust {needed} or later, and {rustc} is {found}",
            hint=install_hint(["cargo"]),
            needed=_dotted(OLDEST),
            rustc=found["rustc"],
            found=f"{release[1]}.{release[2]}",
        )
    return Cargo(Path(str(found["cargo"])), rust.output + c.output)


def install_hint(tools: Iterable[str]) -> str:
    """Return the command that installs some of the tools, or advice if the command is not known."""
    if not find_program("apt-get"):
        return f"install Rust {_dotted(OLDEST)}, a C++ compiler and make with this system's package manager"
    packages = {_rust_package() if _PACKAGES[tool] == "cargo" else _PACKAGES[tool] for tool in tools}
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(sorted(packages))}"


def _rust_package() -> str:
    """Return Debian's package for cargo. Debian 12 has two: its own is too old; the other is for building browsers."""
    try:
        said = attempt(["apt-cache", "show", "--no-all-versions", "cargo"], timeout_s=60).output
    except EnvironmentProblem:
        said = ""
    offered = re.search(r"^Version: (\d+)\.(\d+)", said, re.MULTILINE)
    too_old = offered and (int(offered[1]), int(offered[2])) < OLDEST
    return "cargo-web" if too_old else "cargo"


def _run(*words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    # rustup's rustc is found beside its cargo.
    return attempt(words, tool="cargo", env={"PATH": _search_path(), **(env or {})}, timeout_s=TIMEOUT_S)


def _search_path() -> str:
    return os.pathsep.join([search_path(), str(cargo_home() / "bin")])


def cargo_home() -> Path:
    """Return the folder of the user's cargo settings."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
