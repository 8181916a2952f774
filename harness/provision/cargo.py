"""Cargo, and the compilers that it builds with: the machine's own.

A crate that bundles a C library is built with a C compiler, a C++ compiler and make besides. None of them is borrowed.
Each build has a home of its own for what cargo fetches: cargo checks a crate when it downloads it, and never again.
The user's settings of cargo (where crates come from, and the password for it) are linked into that home.
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

#: Debian 13's, and the rust-version of our packages: cargo then takes no crate that asks for a later one.
OLDEST = (1, 85)
TIMEOUT_S = 3_600  # a build takes minutes, and far more on a machine that does much else

_SETTINGS = ("config.toml", "credentials.toml")

#: Each tool that a build calls, and Debian's package of it.
_PACKAGES = {"cargo": "cargo", "rustc": "cargo", "cc": "gcc", "c++": "g++", "make": "make"}


@dataclass(frozen=True)
class Cargo:
    """A cargo; ``builds_with`` is what the compilers say of themselves."""

    path: Path
    builds_with: str

    def run(self, home: Path, *words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
        """Run it to its end, with ``home`` to keep things in."""
        home.mkdir(exist_ok=True)
        for name in _SETTINGS:
            theirs, ours = cargo_home() / name, home / name
            if theirs.is_file() and not ours.is_symlink():
                ours.symlink_to(theirs.absolute())
        return _run(self.path, *words, env={**(env or {}), "CARGO_HOME": str(home)})


def find_cargo() -> Cargo:
    """The machine's cargo, on PATH or where rustup puts it.

    EnvironmentProblem: it is missing, too old or broken, or another of the tools is missing.
    """
    found = {tool: which(tool, path=_search_path()) for tool in _PACKAGES}
    missing = [tool for tool, path in found.items() if path is None]
    if missing:
        raise EnvironmentProblem(
            f"programs in Rust are built here by cargo, and there is no {', '.join(missing)} on PATH or in"
            f" {cargo_home() / 'bin'}",
            hint=install_hint(missing),
        )
    rust = _run(str(found["rustc"]), "-vV")
    c = _run(str(found["cc"]), "--version")
    release = re.search(r"^release: (\d+)\.(\d+)", rust.output, re.MULTILINE)
    if release is None:
        why = excerpt(rust.output, "error")
        raise EnvironmentProblem(f"{found['rustc']} does not work: {why}", hint="rustup default stable")
    if (int(release[1]), int(release[2])) < OLDEST:
        raise EnvironmentProblem(
            f"programs in Rust are built here with Rust {_dotted(OLDEST)} or later, and {found['rustc']} is"
            f" {release[1]}.{release[2]}",
            hint=install_hint(["cargo"]),
        )
    return Cargo(Path(str(found["cargo"])), rust.output + c.output)


def install_hint(tools: Iterable[str]) -> str:
    """The one command that brings some of the tools, or what to do where we do not know one."""
    if not find_program("apt-get"):
        return f"install Rust {_dotted(OLDEST)}, a C++ compiler and make with this system's package manager"
    packages = {_rust_package() if _PACKAGES[tool] == "cargo" else _PACKAGES[tool] for tool in tools}
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(sorted(packages))}"


def _rust_package() -> str:
    """Debian 12 has two: its own is too old, the other is the one that its browsers are built with."""
    try:
        said = attempt(["apt-cache", "show", "--no-all-versions", "cargo"], timeout_s=60).output
    except EnvironmentProblem:
        said = ""
    offered = re.search(r"^Version: (\d+)\.(\d+)", said, re.MULTILINE)
    too_old = offered and (int(offered[1]), int(offered[2])) < OLDEST
    return "cargo-web" if too_old else "cargo"


def _run(*words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    # rustup's own rustc is found beside its cargo
    return attempt(words, tool="cargo", env={"PATH": _search_path(), **(env or {})}, timeout_s=TIMEOUT_S)


def _search_path() -> str:
    return os.pathsep.join([search_path(), str(cargo_home() / "bin")])


def cargo_home() -> Path:
    """Where the user's cargo keeps its settings."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
