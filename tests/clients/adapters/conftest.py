"""Processes of client programs, and every client at every tested version."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import clients.adapters.python_lib
from harness.plugins import registry
from suites.contract.client_process import refusing_port
from suites.contract.probe import Capabilities

LIBRARY = Path(clients.adapters.python_lib.__file__).parent
#: Tested at their default version in ``make test``: two Python clients, and one client of each other
#: language that needs no gcc.
USUAL = ("aiokafka", "confluent-kafka", "franz-go", "java", "kafkajs")
#: Tested at their default version in ``make test-extended``.
EXTENDED = ("kafka-python",)
OTHERS = tuple(
    name for name in registry.names("clients") if name != "reference" and not name.startswith("mutant-")
)
ENDED_S = 60

Event = dict[str, Any]


@cache
def published(name: str) -> dict[str, Capabilities]:
    """Return a client's published capabilities, by version."""
    path = LIBRARY.parent / name.replace("-", "_") / "capabilities.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Capabilities])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give ``each_client`` the values (name, tested version).

    ``make test-clients`` runs what neither of the other tiers has. The marks ``needs`` leave out the versions whose
    published features lack one of those that they name. So a client that lost a feature fails.
    """
    if "each_client" not in metafunc.fixturenames:
        return
    needed = {feature for mark in metafunc.definition.iter_markers("needs") for feature in mark.args}
    pairs = []
    for name in OTHERS:
        kind = registry.client(name)
        for version in kind.versions:
            if needed and not needed <= set(published(name)[version].features):
                continue
            marks = _tier(name) if version == kind.default_version else pytest.mark.every_client
            pairs.append(pytest.param((name, version), id=f"{name}@{version}", marks=marks))
    metafunc.parametrize("each_client", pairs)


def _tier(name: str) -> pytest.MarkDecorator | tuple[()]:
    if name in USUAL:
        return ()
    return pytest.mark.extended if name in EXTENDED else pytest.mark.every_client


@pytest.fixture(scope="session")
def other_clients() -> tuple[str, ...]:
    """Return the names of the clients other than the reference client and its mutants."""
    return OTHERS


@pytest.fixture(scope="session")
def published_by() -> Callable[[str], dict[str, Capabilities]]:
    """Return :func:`published`."""
    return published


class ClientProcess:
    """A running client program: the events that it writes, and its exit code."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *commands: dict[str, Any]) -> None:
        self.write(*(json.dumps(command, ensure_ascii=False).encode() for command in commands))

    def write(self, *lines: bytes) -> None:
        """Write lines that need not be commands."""
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))

    def until(self, name: str, **fields: Any) -> Event:
        """Return the next event with that name and those fields, and skip the others."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event["name"] == name and fields.items() <= event.items():
                return event
        raise AssertionError(f"the program ended without {name}")

    def rest(self) -> list[Event]:
        """Return the events until the program ends by itself."""
        return [json.loads(line) for line in self.process.stdout]

    def end(self) -> tuple[int, list[Event]]:
        """Close stdin, and return the exit code and the remaining events."""
        left, _ = self.process.communicate(timeout=ENDED_S)
        return self.process.returncode, [json.loads(line) for line in left.splitlines()]


@pytest.fixture
def begin() -> Iterator[Callable[..., ClientProcess]]:
    """Return a function that starts a command line as a :class:`ClientProcess`, which ends with the test."""
    begun = []

    def start(*argv: str | Path) -> ClientProcess:
        # Without buffers, ``communicate`` returns all that was not read before.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        begun.append(subprocess.Popen(argv, bufsize=0, **pipes))
        return ClientProcess(begun[-1])

    yield start
    for process in begun:
        process.kill()
        with process:  # closes its pipes
            pass


@pytest.fixture(scope="module")
def argv(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the command line of the module's ``CLIENT``."""
    client = request.module.CLIENT
    return client.install(client.default_version).argv


@pytest.fixture
def started(argv: tuple[str, ...], begin: Callable[..., ClientProcess]) -> Callable[[], ClientProcess]:
    """Return a function that starts the module's ``CLIENT``."""
    return lambda: begin(*argv)


@pytest.fixture
def run_to_end(started: Callable[[], ClientProcess]) -> Callable[..., tuple[int, list[Event]]]:
    """Return a function that sends commands, closes stdin, and returns the exit code and the events."""

    def run(*commands: dict[str, Any]) -> tuple[int, list[Event]]:
        client = started()
        client.send(*commands)
        return client.end()

    return run


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Return an address that refuses every connection."""
    with refusing_port() as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def configure(request: pytest.FixtureRequest, nowhere: str) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the ``configure`` command, from the module's ``SETTINGS`` and given ones."""
    config = {"bootstrap.servers": nowhere} | request.module.SETTINGS
    return lambda **settings: {"cmd": "configure", "id": 1, "config": config | settings}
