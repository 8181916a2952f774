"""The example distribution, built from its pyproject and unpacked on Python's path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

PROJECT = Path(__file__).parents[2] / "examples/plugins"


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked wheel, including its entry points."""
    folder = tmp_path_factory.mktemp("wheel")
    [wheel] = WheelBuilder(str(PROJECT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="session")
def python(unpacked: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python with the distribution on its path."""

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"PYTHONPATH": str(unpacked)}
        return subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def kafka_trial(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a kafka-trial command with the distribution on its path."""
    program = str(Path(sys.executable).with_name("kafka-trial"))
    return lambda *argv: python(program, *argv)
