"""Lives of client programs, and every client at every version that was tried."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import clients.adapters.python_lib
from harness.plugins import registry
from suites.contract.cases import refusing_port
from suites.contract.probe import Capabilities

LIBRARY = Path(clients.adapters.python_lib.__file__).parent
#: At their default version in ``make test``: the Python clients, and one of each other language that needs no gcc.
USUAL = ("aiokafka", "confluent-kafka", "franz-go", "java", "kafka-python", "kafkajs")
OTHERS = tuple(
    name for name in registry.names("clients") if name != "reference" and not name.startswith("mutant-")
)
ENDED_S = 60

Event = dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``each_client`` is a name and a version that we say was tried; but for the usual ones, ``make test-clients``'."""
    if "each_client" not in metafunc.fixturenames:
        return
    pairs = []
    for name in OTHERS:
        kind = registry.client(name)
        for version in kind.versions:
            usual = name in USUAL and version == kind.default_version
            marks = () if usual else pytest.mark.every_client
            pairs.append(pytest.param((name, version), id=f"{name}@{version}", marks=marks))
    metafunc.parametrize("each_client", pairs)


@pytest.fixture(scope="session")
def everybody() -> tuple[str, ...]:
    """The clients that are not ours."""
    return OTHERS


@pytest.fixture(scope="session")
def told_by() -> Callable[[str], dict[str, Capabilities]]:
    """What a client said of itself when docs/reference/clients.md was made, by version."""

    def read(name: str) -> dict[str, Capabilities]:
        path = LIBRARY.parent / name.replace("-", "_") / "capabilities.json"
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Capabilities])

    return read


class Life:
    """One process: what it says, event by event, and how it ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *commands: dict[str, Any]) -> None:
        self.write(*(json.dumps(command, ensure_ascii=False).encode() for command in commands))

    def write(self, *lines: bytes) -> None:
        """Lines that need not be commands."""
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))

    def until(self, name: str, **fields: Any) -> Event:
        """The next event of that name and with those fields; others are passed over."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event["name"] == name and fields.items() <= event.items():
                return event
        raise AssertionError(f"it ended without {name}")

    def rest(self) -> list[Event]:
        """What it says until it ends by itself."""
        return [json.loads(line) for line in self.process.stdout]

    def end(self) -> tuple[int, list[Event]]:
        """Hang up: its exit code, and the events that were left."""
        left, _ = self.process.communicate(timeout=ENDED_S)
        return self.process.returncode, [json.loads(line) for line in left.splitlines()]


@pytest.fixture
def begin() -> Iterator[Callable[..., Life]]:
    """From the words of a command line to its :class:`Life`, which ends with the test."""
    begun = []

    def start(*argv: str | Path) -> Life:
        # Without buffers: what was not asked for by then is there for ``communicate``.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        begun.append(subprocess.Popen(argv, bufsize=0, **pipes))
        return Life(begun[-1])

    yield start
    for process in begun:
        process.kill()
        with process:  # closes its pipes
            pass


@pytest.fixture(scope="module")
def argv(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The program of the module's ``CLIENT``."""
    client = request.module.CLIENT
    return client.install(client.default_version).argv


@pytest.fixture
def live(argv: tuple[str, ...], begin: Callable[..., Life]) -> Callable[[], Life]:
    """Begin a life of the module's ``CLIENT``."""
    return lambda: begin(*argv)


@pytest.fixture
def lived(live: Callable[[], Life]) -> Callable[..., tuple[int, list[Event]]]:
    """The exit code, and what it says, of a process that is given commands and then the end of its stdin."""

    def whole(*commands: dict[str, Any]) -> tuple[int, list[Event]]:
        life = live()
        life.say(*commands)
        return life.end()

    return whole


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address that refuses everybody."""
    with refusing_port() as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def configure(request: pytest.FixtureRequest, nowhere: str) -> Callable[..., dict[str, Any]]:
    """The command for a client that will reach nobody: with the module's ``SETTINGS``, and those of a test."""
    config = {"bootstrap.servers": nowhere} | request.module.SETTINGS
    return lambda **settings: {"cmd": "configure", "id": 1, "config": config | settings}
