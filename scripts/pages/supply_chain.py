"""What is fetched and built, what says that it is right, and what each tool sees of the user's environment."""

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
`kafka-trial` fetches brokers, a proxy, tools and clients from public registries. What it takes is pinned in this
repository by hash. A mirror, or a setting of this machine, can refuse it or deliver it, and cannot replace it.
"""

INSTALLED = """\
Everything that is installed or built is in `installed/KIND/NAME` in the cache folder. A manifest beside it,
`NAME.manifest`, has the SHA-256, size and mode of each file and the target of each link, as they were when it was made.

- Before each use, the whole list of files is compared with the manifest, with sizes, modes and links. The contents of
  a file are read again where its inode or one of its times is another than it was. Kafka's jars are read at every use.
- `kafka-trial doctor` reads all contents.
- A damaged installation is refused with one sentence and exit code 3. `kafka-trial doctor --fix` removes it, and
  installs it again where a run or a registered client needs it.
- An installation without a manifest was not finished. It is never used, and made anew by the next run.
- Several processes that want the same installation make it once. One that is killed leaves nothing that is used.
- A cache folder in which other users of the machine can write is refused.

A manifest finds damage: by a disk, by a half copied cache, by a program that wrote where it should not. It is no
defence against a program that runs with your rights and means harm, which could write the manifest too.
"""

UNLOCKED = """\
A version that is not in this table can be put on trial all the same (`NAME@VERSION`). What it consists of then rests
on the sums of its registry: PyPI's, npm's, those of Maven's central repository and of cargo's registry, and Go's
checksum database, which is the one that this machine's Go comes with. Each run says so, and `kafka-trial doctor` counts
such installations.

`python scripts/lock_clients.py` writes the locks. They hold no address: in a `Cargo.lock` the word `registry` stands
for the source, and cargo says before a build what it calls its own registry.
"""

TRUSTED = """\
- The programs of this machine that are found on PATH, in absolute folders: Java, Go, Node with npm, cargo, compilers.
- Build scripts of the crates in a `Cargo.lock`: cargo runs them, and there is no way to build without. No other client
  runs anything while it is installed: npm's scripts are off, and no source package of Python is built.
- Your own settings of a package client, in your home folder: they say where a registry is, and which password it wants.
- `go/build` in the cache folder, where Go keeps what it compiled. Without it each program in Go would take a minute.
- A Toxiproxy that `TOXIPROXY_URL` names.
"""

PATHS = """\
A tool is started in `/`, or in a folder that was made for it: it finds no settings of the project that you are in. It
sees these variables of your environment, and no other.
"""


def pages() -> dict[str, str]:
    """``supply_chain.md``."""
    parts = (
        "# Supply chain",
        NOTE,
        ABOUT,
        table(("what", "fetched by", "what says that it is right"), WHAT),
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
        "These are set, whatever your environment or your settings say:",
        table(("tool", "variable", "value"), _set()),
    )
    return {"supply_chain.md": "\n\n".join(part.strip() for part in parts) + "\n"}


WHAT = (
    (
        "the harness's own Python packages",
        "pip, uv",
        "`requirements.lock`, by hash; wheels, but for PySpark, which has none and is built with a locked setuptools",
    ),
    (f"Kafka {', '.join(kafka.VERSIONS)}", "Ivy", "`harness/provision/sums`, at every use"),
    (
        f"Toxiproxy {toxiproxy.VERSION}",
        "go",
        "`harness/provision/modules/toxiproxy/go.sum`; it is built here, and one on PATH is not used",
    ),
    (
        "Go and Node, where this machine's will not do; pip; jgo",
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
    """How many packages a lock holds: what it names itself, and what that asks for."""
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
