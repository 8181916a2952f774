"""The versions that PyPI lists, and the errors if it does not, where pip is a script: no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.adapters.kafka_python import CLIENT
from harness.model.errors import EnvironmentProblem
from harness.provision import pypi
from testkit.codes import raises_code


@pytest.fixture
def pip(tmp_path, monkeypatch, lend):
    """Return ``pip(script)``, which makes a script of pip that records its arguments in the file ``asked``."""
    monkeypatch.chdir(tmp_path)

    def says(script: str) -> None:
        path = tmp_path / "pip"
        path.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{script}\n')
        path.chmod(0o755)
        lend(path)

    return says


def test_releases_are_listed_oldest_first(pip):
    pip(
        """echo '{"name": "kafka-python", "versions": ["3.0.12", "2.10.0", "2.9.1"]}'; echo 'a warning' >&2"""
    )
    assert CLIENT.published() == ["2.9.1", "2.10.0", "3.0.12"]
    assert Path("asked").read_text().split()[-1] == "kafka-python"


def test_an_unknown_package_is_an_error(pip):
    pip("echo 'ERROR: No matching distribution found for kafka-pithon' >&2; exit 1")
    with raises_code(EnvironmentProblem, "versions-not-listed", package="kafka-pithon"):
        pypi.published("kafka-pithon")


def test_an_unreachable_registry_is_an_environment_problem(pip):
    pip("""echo "WARNING: Retrying after connection broken by 'NewConnectionError(...)'" >&2
           echo 'ERROR: No matching distribution found for kafka-python' >&2; exit 1""")
    with raises_code(EnvironmentProblem, "versions-not-listed", why="it cannot be reached"):
        pypi.published("kafka-python")
