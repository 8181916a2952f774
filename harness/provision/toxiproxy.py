"""Toxiproxy's server, at exactly the version whose semantics the faults rely on.

2.12.0 and no other: 2.13 gives a bandwidth of 0 another meaning and loses bytes of readers that pause. It is taken
from PATH where that version is there, else built from its module by Go's own client, which checks it against Go's
checksum database.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from harness.errors import EnvironmentProblem
from harness.provision.caches import cache_dir, cache_path, installed
from harness.provision.go import go_tool
from harness.provision.tools import attempt, excerpt

VERSION = "2.12.0"
_MODULE = "github.com/Shopify/toxiproxy/v2"
log = logging.getLogger(__name__)


def toxiproxy_server() -> Path:
    """The server's binary, built (half a minute) where it is missing. EnvironmentProblem: it cannot be built."""
    if there := find_server():
        return there
    cache_dir()
    return (
        installed(_folder(), _build, whole=lambda folder: _is_right(folder / "toxiproxy-server"))
        / "toxiproxy-server"
    )


def find_server() -> Path | None:
    """The binary if it is on PATH or in the cache and says that it is the right version."""
    on_path = shutil.which("toxiproxy-server")
    candidates = [*([Path(on_path)] if on_path else []), _folder() / "toxiproxy-server"]
    return next(filter(_is_right, candidates), None)


def _folder() -> Path:
    return cache_path() / "toxiproxy" / VERSION


def _is_right(binary: Path) -> bool:
    try:
        return binary.exists() and attempt([binary, "-version"], timeout_s=10).output.split()[-1:] == [
            VERSION
        ]
    except EnvironmentProblem:  # not executable, or for another machine
        return False


def _build(folder: Path) -> None:
    go = go_tool()
    log.info("building Toxiproxy %s", VERSION)
    work = folder / "work"
    env = {
        "GOBIN": str(work / "bin"),
        "GOPATH": str(work / "path"),
        "GOCACHE": str(work / "cache"),
        "GOFLAGS": "-mod=mod -modcacherw",  # read-only modules could not be removed afterwards
        "GOTOOLCHAIN": "local",
        "GO111MODULE": "on",
        "CGO_ENABLED": "0",
    }
    says_its_version = f"-s -w -X {_MODULE}.Version={VERSION}"
    argv: list[str | Path] = [
        go,
        "install",
        "-trimpath",
        "-ldflags",
        says_its_version,
        f"{_MODULE}/cmd/server@v{VERSION}",
    ]
    ended = attempt(argv, env=env, timeout_s=900)
    if ended.returncode != 0:
        why = excerpt(ended.output, "dial tcp", "error")
        raise EnvironmentProblem(
            f"Toxiproxy {VERSION} could not be built: {why}", hint="try again, or set TOXIPROXY_URL"
        )
    (work / "bin" / "server").rename(folder / "toxiproxy-server")
    shutil.rmtree(work)
