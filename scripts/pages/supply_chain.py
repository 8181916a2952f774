"""What is fetched and built, how it is verified, and which variables of the user's environment each tool gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.plugins import registry
from harness.provision import kafka, toxiproxy
from harness.provision.environment import EVERY_TOOL, KEPT, SET
from harness.provision.jars import IVY, sums_in
from harness.provision.java_programs import ECJ
from pages.markdown import NOTE, code, table

ABOUT = """\
`kafka-trial` fetches brokers, a proxy, tools and clients from public registries. This repository pins them by hash. A
mirror or a setting of this machine can deliver or withhold them, but cannot replace them.
"""

INSTALLED = """\
Everything that is installed or built is in `installed/KIND/NAME` in the cache folder. A manifest beside it,
`NAME.manifest`, has the SHA-256, size and mode of each file and the target of each link from when it was made.

- Before each use, the list of files with sizes, modes and links is compared with the manifest. The contents of a file
  are read again if its inode or one of its times has changed. Kafka's jars are read at every use.
- `kafka-trial doctor` reads all contents.
- A damaged installation is refused with one sentence and exit code 3. `kafka-trial doctor --fix` removes it, and
  reinstalls it if a run or a registered client needs it.
- An installation without a manifest is unfinished. It is never used, and the next run makes it again.
- If several processes need the same installation, only one makes it. If that is killed, its unfinished installation is
  not used.
- A cache folder in which other users of the machine can write is refused.

A manifest detects damage by a disk, by an incomplete copy of the cache, or by a program that wrote to the wrong place.
It does not protect against a malicious program with your rights, which could also write the manifest.
"""

UNLOCKED = """\
A version that is not in this table can also be put on trial (`NAME@VERSION`). It then relies on the checksums of its
registry: those of PyPI, npm, Maven's central repository or cargo's registry, or Go's checksum database (the one
configured in this machine's Go). Each run says so, and `kafka-trial doctor` counts such installations.

`python scripts/lock_clients.py` writes the locks. They contain no addresses: in a `Cargo.lock` the word `registry`
replaces the source, and before a build cargo itself provides the name of its registry.
"""

TRUSTED = """\
- The programs of this machine that are found on PATH, in absolute folders: Java, Go, Node with npm, cargo, compilers.
- Build scripts of the crates in a `Cargo.lock`: cargo cannot build without running them. No other client runs code
  while it is installed: npm's scripts are off, and no source package of Python is built.
- Your own settings of a package client, in your home folder: where a registry is, and which password it requires.
- `go/build` in the cache folder, where Go keeps what it compiled. Without it each program in Go would take a minute.
- A Toxiproxy that `TOXIPROXY_URL` names.
"""

PATHS = """\
A tool starts in `/`, or in a folder that was made for it, so it does not find the settings of your current project. It
gets only these variables of your environment.
"""


def pages() -> dict[str, str]:
    """Return the text of ``supply_chain.md``, by that name."""
    parts = (
        "# Supply chain",
        NOTE,
        ABOUT,
        table(("what", "fetched by", "verified by"), WHAT),
        "## What is installed",
        INSTALLED,
        "## Locks of clients",
        table(("client", "versions with a lock", "lock", "packages (default version)"), _locks()),
        UNLOCKED,
        "## What is trusted",
        TRUSTED,
        "## The environment of a tool",
        PATHS,
        table(("tool", "variable", "what for"), _kept()),
        "These are always set, whatever your environment or your settings contain:",
        table(("tool", "variable", "value"), _set()),
    )
    return {"supply_chain.md": "\n\n".join(part.strip() for part in parts) + "\n"}


WHAT = (
    (
        "the harness's own Python packages",
        "pip, uv",
        "`requirements.lock`, by hash; wheels, except for PySpark, which has none and is built with locked setuptools",
    ),
    (f"Kafka {', '.join(kafka.VERSIONS)}", "Ivy", "`harness/provision/sums`, at every use"),
    (
        f"Toxiproxy {toxiproxy.VERSION}",
        "go",
        "`harness/provision/modules/toxiproxy/go.sum`; it is built here; one on PATH is not used",
    ),
    (
        "Go and Node, if this machine's are unsuitable; pip; jgo",
        "uv",
        "`harness/provision/{go,jgo,node,pip}.txt`, by hash",
    ),
    (f"Ivy {IVY[0][2]}", "jgo", "`harness/provision/sums`, at every use"),
    (f"the Java compiler, ecj {ECJ[2]}", "Ivy", "`harness/provision/sums`, at every use"),
    ("Python clients", "uv", "`requirements.txt` by hash; wheels only; nothing from uv's cache"),
    ("Node clients", "npm", "`package-lock.json`; no scripts"),
    ("Go clients", "go", "`go.sum`; the cache of modules is verified after each build"),
    ("Rust clients", "cargo", "`Cargo.lock`; nothing from the cache of your cargo"),
    ("Java clients", "Ivy", "`jars.sha256`"),
)


def _locks() -> Iterator[tuple[str, ...]]:
    for kind in registry.table("clients").values():
        if hasattr(kind, "locks"):
            versions = [version for version in kind.versions if (kind.locks / version).is_dir()]
            lock = kind.locks / kind.default_version
            names = ", ".join(code(file.name) for file in sorted(lock.iterdir()))
            yield f"`{kind.name}`", ", ".join(versions), names, str(_packages(lock))


def _packages(lock: Path) -> int:
    """Return the number of packages in a lock, including dependencies."""
    [count] = [COUNTS[file.name](file) for file in lock.iterdir() if file.name in COUNTS]
    return count


def _in_package_lock(file: Path) -> int:
    packages: Mapping[str, Any] = json.loads(file.read_text())["packages"]
    return sum(bool(name) for name in packages)


COUNTS = {
    "requirements.txt": lambda file: file.read_text().count("=="),
    "package-lock.json": _in_package_lock,
    "go.mod": lambda file: file.read_text().count(" v"),
    "Cargo.lock": lambda file: file.read_text().count("checksum = "),
    "jars.sha256": lambda file: len(sums_in(file)),
}


def _kept() -> Iterator[tuple[str, str, str]]:
    for tool, names in {"every tool": EVERY_TOOL, **KEPT}.items():
        yield from ((tool, code(name), what) for name, what in names.items())


def _set() -> Iterator[tuple[str, str, str]]:
    for tool, values in SET.items():
        yield from ((tool, code(name), code(value) if value else "empty") for name, value in values.items())
