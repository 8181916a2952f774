"""Toxiproxy's server, built here at exactly the version whose semantics the faults rely on.

The version has to be 2.12.0: 2.13 gives a bandwidth of 0 another meaning and loses bytes of readers that pause. Its
module and all dependencies are pinned by ``modules/toxiproxy``. The binary that runs is the one that Go built from
them, verified by its digest. A server on PATH is not used, because the version that a program prints does not prove
what it is.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.caches import installations, installed, is_finished
from harness.provision.environment import find_program
from harness.provision.go import go_tool, run_go
from harness.provision.go_programs import verify_modules
from harness.provision.tools import excerpt

VERSION = "2.12.0"
SERVER = "toxiproxy-server"
SOURCES = Path(__file__).parent / "modules" / "toxiproxy"
KIND = "toxiproxy"
_MODULE = "github.com/Shopify/toxiproxy/v2"
log = logging.getLogger(__name__)


def toxiproxy_server() -> Path:
    """Return the server's binary, built (half a minute) if missing. EnvironmentProblem: not built, or damaged."""
    return installed(KIND, _name(), _build) / SERVER


def find_server() -> Path | None:
    """Return the binary that was built, without checking it, or None."""
    return place() / SERVER if is_finished(place()) else None


def foreign_server() -> Path | None:
    """Return a server on PATH, which is not used."""
    return find_program(SERVER)


def place() -> Path:
    """Return the folder of the server, existing or not."""
    return installations() / KIND / _name()


def _name() -> str:
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in ("go.mod", "go.sum")))
    return f"{VERSION}-{digest.hexdigest()[:12]}"


def _build(folder: Path) -> None:
    go = go_tool()
    log.info("building Toxiproxy %s", VERSION)
    module = folder / "module"
    shutil.copytree(SOURCES, module)
    says_its_version = f"-ldflags=-s -w -X {_MODULE}.Version={VERSION}"
    words = ("-C", module, "-trimpath", says_its_version, "-o", folder / SERVER, f"{_MODULE}/cmd/server")
    ended = run_go(go, "build", *words)
    if ended.returncode != 0:
        why = excerpt(ended.output, "checksum mismatch", "dial tcp", "error")
        raise EnvironmentProblem(
            "toxiproxy-not-built",
            "Toxiproxy {version} could not be built: {why}",
            hint="try again, or set TOXIPROXY_URL",
            version=VERSION,
            why=why,
        )
    verify_modules(go, module, f"Toxiproxy {VERSION}")
    shutil.rmtree(module)
