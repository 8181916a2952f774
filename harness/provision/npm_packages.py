"""Programs for Node: a folder of the cache with exact versions of npm packages, and the program beside them.

No code of a package runs while it is installed (``--ignore-scripts``). Packages that need to be compiled, or that
download something else, therefore do not work. npm's own cache is in a subfolder of the harness's cache, and npm checks
what it reads from there. A committed ``package-lock.json`` pins every package by its hash. Without one, the registry
determines the hashes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.model.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.model.path_names import made_of
from harness.provision.caches import cache_dir, installed
from harness.provision.environment import search_path
from harness.provision.node import NodeRuntime
from harness.provision.tools import Ended, attempt, excerpt
from harness.provision.versions import in_order, plain_version, unknown_version

log = logging.getLogger(__name__)

LOCK = ("package.json", "package-lock.json")
_QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--engine-strict")
_INSTALL = ("install", "--no-package-lock", *_QUIET)
_INSTALL_LOCKED = ("ci", *_QUIET)
_LOCK = (
    "install",
    "--package-lock-only",
    "--lockfile-version=3",
    "--omit-lockfile-registry-resolved",
    *_QUIET,
)
#: By default, npm waits for more than a minute before it reports a missing network. These settings take seconds.
_SOON = ("--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=5000")
#: npm treats anything shorter as a range.
_EXACT = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+([-+].+)?")
#: npm's lines that state no cause, and the label before those that do.
_HEADS = re.compile(r"npm error (code|syscall|errno|path|dest|cwd|engine|A complete log)\b.*")
_LABEL = re.compile(r"npm error ((notarget|notsup|nospc|\d{3}) )?")


def exact_version(client: str, version: str, example: str) -> str:
    """Return ``version`` if npm treats it as a single version. Raises UsageError otherwise."""
    if not _EXACT.fullmatch(plain_version(client, version, example)):
        raise UsageError(
            "client-version-format",
            "{version!r} is not a version of {client}; an example is {example}",
            version=version,
            client=client,
            example=example,
        )
    return version


def node_program(
    node: NodeRuntime,
    packages: Sequence[str],
    sources: Sequence[Path],
    *,
    name: str | None = None,
    lock: Path | None = None,
) -> Path:
    """Return a folder with ``sources`` (files and folders) and their imports: ``packages``, as ``name@version``.

    The first package is the one that the user named. The folder's name is ``name``, or derived from that package.
    ``lock`` is the first file of a committed lock. Raises UsageError if that version of the package does not exist, and
    EnvironmentProblem if it cannot be fetched or does not support this Node.
    """
    files = [file for source in sources for file in _files(source)]
    files += [(each, lock.with_name(each)) for each in LOCK] if lock else []
    key = " ".join([*packages, *map(str, node.version), platform.machine()])
    digest = hashlib.sha256(key.encode())
    for path, file in files:
        digest.update(f"\0{path}\0".encode() + file.read_bytes())

    def build(folder: Path) -> None:
        log.info("installing %s", packages[0])
        for path, file in files:
            (folder / path).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, folder / path)
        ended = _npm(node, folder, *(_INSTALL_LOCKED if lock else (*_INSTALL, *packages)))
        if ended.returncode != 0:
            raise _explained(node, packages[0], ended.output)

    slug = made_of((name or packages[0]).lstrip("@"))
    return installed("node", f"{slug}-{digest.hexdigest()[:12]}", build, is_locked=lock is not None)


def write_lock(node: NodeRuntime, packages: Sequence[str], lock: Path) -> None:
    """Resolve packages with npm as of today, into the two files of a lock in a folder."""
    wanted = dict(package.rsplit("@", 1) for package in packages)
    (lock / LOCK[0]).write_text(json.dumps({"private": True, "dependencies": wanted}, indent=2) + "\n")
    ended = _npm(node, lock, *_LOCK)
    if ended.returncode != 0:
        raise _explained(node, packages[0], ended.output)
    _without_addresses(lock / LOCK[1])


def _without_addresses(file: Path) -> None:
    """Remove download addresses and funding information, which npm does not need."""
    lock = json.loads(file.read_text())
    lock["name"] = "adapter"
    for package in lock["packages"].values():
        for name in ("resolved", "funding", "license", "deprecated"):
            package.pop(name, None)
    file.write_text(json.dumps(lock, indent=1, ensure_ascii=False) + "\n")


def published(node: NodeRuntime, package: str) -> list[str]:
    """Return every version of a package in the registry, oldest first. EnvironmentProblem: the query failed."""
    ended = _npm(node, cache_dir(), "view", package, "versions", "--json")
    if ended.returncode != 0:
        raise EnvironmentProblem(
            "versions-not-listed",
            "npm could not list the versions of {package}: {cause}",
            package=package,
            cause=_cause(ended.output),
        )
    listed = _json(ended.output)
    return in_order(listed if isinstance(listed, list) else [listed])


def _files(source: Path) -> list[tuple[str, Path]]:
    """Return a file, or the modules in a folder, with their names in the program's folder."""
    if source.is_file():
        return [(source.name, source)]
    return [(f"{source.name}/{file.name}", file) for file in sorted(source.glob("*.mjs"))]


def _npm(node: NodeRuntime, folder: Path, *words: str) -> Ended:
    """Run npm in a folder of the cache, since it would apply the settings of the current project."""
    # npm and its child processes find Node by name, and it must be the same one
    path = os.pathsep.join([str(node.path.parent), search_path()])
    ours = ("--prefix", folder, "--cache", cache_dir() / "npm", "--loglevel=error")
    argv: list[str | Path] = [*node.npm, *words, *ours, *_SOON]
    return attempt(argv, tool="npm", env={"PATH": path}, cwd=folder, timeout_s=900)


def _explained(node: NodeRuntime, package: str, said: str) -> KafkaTrialError:
    if f"No matching version found for {package}." in said:
        name = package.rpartition("@")[0]
        newest = _npm(node, cache_dir(), "view", name, "version", "--json")
        known = _json(newest.output) if newest.returncode == 0 else None
        return unknown_version(package, name, known)
    return EnvironmentProblem(
        "install-failed", "{package} could not be installed: {cause}", package=package, cause=_cause(said)
    )


def _cause(said: str) -> str:
    """Return npm's first line that states the cause, or else the line that names its log."""
    lines = [line for line in said.splitlines() if line.startswith("npm error ")]
    telling = [line for line in lines if not _HEADS.match(line)]
    return _LABEL.sub("", "".join(telling[:1]) or excerpt(said))


def _json(said: str) -> Any:
    """Return npm's output without the warnings that follow it."""
    return json.JSONDecoder().raw_decode(said.lstrip())[0]
