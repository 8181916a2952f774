"""Programs for Node: a folder of the cache that holds exact versions of npm's packages, and the program beside them.

Nothing of a package runs while it is installed (``--ignore-scripts``): what has to be compiled, or fetched from
elsewhere, is not had. npm keeps a cache of its own below ours.
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

from harness.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.provision.caches import cache_dir, installed
from harness.provision.node import Node
from harness.provision.tools import Ended, attempt, excerpt
from harness.provision.versions import in_order, plain_version

log = logging.getLogger(__name__)

_INSTALL = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--engine-strict")
#: npm waits for more than a minute before it says that there is no network; these are seconds.
_SOON = ("--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=5000")
#: To npm anything shorter is a range.
_EXACT = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+([-+].+)?")
#: Its lines that name no cause, and the word before one that does.
_HEADS = re.compile(r"npm error (code|syscall|errno|path|dest|cwd|engine|A complete log)\b.*")
_LABEL = re.compile(r"npm error ((notarget|notsup|nospc|\d{3}) )?")


def exact_version(client: str, version: str, example: str) -> str:
    """``version``, if npm takes it for one and no more. UsageError for anything else."""
    if not _EXACT.fullmatch(plain_version(client, version, example)):
        raise UsageError(f"{version!r} is not a version of {client}; an example is {example}")
    return version


def node_program(node: Node, packages: Sequence[str], sources: Sequence[Path]) -> Path:
    """The folder that holds ``sources`` (files and folders) and what they import: ``packages``, as ``name@version``.

    The first package is the one that the user named. UsageError: that version of it does not exist.
    EnvironmentProblem: it cannot be fetched, or is not for this Node.
    """
    files = [file for source in sources for file in _files(source)]
    key = " ".join([*packages, *map(str, node.version), platform.machine()])
    digest = hashlib.sha256(key.encode())
    for name, file in files:
        digest.update(f"\0{name}\0".encode() + file.read_bytes())
    slug = re.sub(r"[^\w.=@-]+", "-", packages[0]).strip("-@")
    place = cache_dir() / "node" / f"{slug}-{digest.hexdigest()[:12]}"

    def build(folder: Path) -> None:
        log.info("installing %s", packages[0])
        ended = _npm(node, folder, *_INSTALL, *packages)
        if ended.returncode != 0:
            raise _explained(node, packages[0], ended.output)
        for name, file in files:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, folder / name)

    return installed(place, build)


def published(node: Node, package: str) -> list[str]:
    """Every version of a package that the registry lists, oldest first. EnvironmentProblem: it cannot be asked."""
    ended = _npm(node, cache_dir(), "view", package, "versions", "--json")
    if ended.returncode != 0:
        raise EnvironmentProblem(f"npm could not list the versions of {package}: {_cause(ended.output)}")
    listed = _json(ended.output)
    return in_order(listed if isinstance(listed, list) else [listed])


def _files(source: Path) -> list[tuple[str, Path]]:
    """A file, or the modules in a folder, each with its name in the program's folder."""
    if source.is_file():
        return [(source.name, source)]
    return [(f"{source.name}/{file.name}", file) for file in sorted(source.glob("*.mjs"))]


def _npm(node: Node, folder: Path, *words: str) -> Ended:
    """npm in a folder of ours: it would obey the settings of whatever project it is started in."""
    # npm and what it starts find their Node by name, and that must be the same one
    path = os.pathsep.join([str(node.path.parent), os.environ.get("PATH", os.defpath)])
    ours = ("--prefix", folder, "--cache", cache_dir() / "npm", "--loglevel=error")
    return attempt([*node.npm, *words, *ours, *_SOON], env={"PATH": path}, timeout_s=900)


def _explained(node: Node, package: str, said: str) -> KafkaTrialError:
    if f"No matching version found for {package}." in said:
        name = package.rpartition("@")[0]
        newest = _npm(node, cache_dir(), "view", name, "version", "--json")
        known = f"; the newest {name} is {_json(newest.output)}" if newest.returncode == 0 else ""
        return UsageError(f"{package} does not exist{known}")
    return EnvironmentProblem(f"{package} could not be installed: {_cause(said)}")


def _cause(said: str) -> str:
    """The first line of npm's that tells why; without one, where it wrote more."""
    lines = [line for line in said.splitlines() if line.startswith("npm error ")]
    telling = [line for line in lines if not _HEADS.match(line)]
    return _LABEL.sub("", "".join(telling[:1]) or excerpt(said))


def _json(said: str) -> Any:
    """What npm prints first; warnings follow."""
    return json.JSONDecoder().raw_decode(said.lstrip())[0]
