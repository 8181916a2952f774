"""Launches of the little client programs in ``broken/``, and every client at every version that was tried."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import clients.adapters.python_lib
from harness import registry
from harness.ports import Launch
from suites.contract.asking import Told

LIBRARY = Path(clients.adapters.python_lib.__file__).parent
#: At their default version in ``make test``: the Python clients, and one of each other language that needs no gcc.
USUAL = ("aiokafka", "confluent-kafka", "franz-go", "java", "kafka-python", "kafkajs")
OTHERS = tuple(
    name for name in registry.names("clients") if name != "reference" and not name.startswith("mutant-")
)


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
def told_by() -> Callable[[str], dict[str, Told]]:
    """What a client said of itself when docs/clients.md was made, by version."""

    def read(name: str) -> dict[str, Told]:
        path = LIBRARY.parent / name.replace("-", "_") / "told.json"
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Told])

    return read


@pytest.fixture(scope="session")
def program() -> Callable[[str], Launch]:
    """The launch of ``broken/<name>.py``."""
    folder = Path(__file__).parent / "broken"
    return lambda name: Launch(
        (sys.executable, "-s", str(folder / f"{name}.py")), {"PYTHONPATH": str(LIBRARY)}
    )
