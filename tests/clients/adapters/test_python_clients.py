"""The clients that are PyPI packages: what is installed for a version, and the contract tests."""

from __future__ import annotations

import ast
import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from clients.adapters import aiokafka, confluent_kafka, kafka_python
from clients.adapters.python_lib import pypi_client
from clients.adapters.reference import CLIENT as REFERENCE
from clients.adapters.reference import __main__ as reference_program
from clients.reference.telemetry.trace import ReconnectBackoff
from harness.model.errors import UsageError
from harness.provision.versions import in_order
from suites.contract import check_contract
from testkit.codes import raises_code

CLIENTS = (aiokafka.CLIENT, confluent_kafka.CLIENT, kafka_python.CLIENT)


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request):
    return request.param


@pytest.fixture
def installed(monkeypatch):
    """Return the list of requirements that a test asks to install. None is installed."""
    asked: list[str] = []

    def python_env(*requirements: str, lock: Path | None) -> Path:
        asked.extend(requirements)
        return Path("/cache/bin/python")

    # Installing needs the network, and the tests check only the requested packages.
    monkeypatch.setattr(pypi_client, "python_env", python_env)
    return asked


def test_versions_are_in_order_and_default_is_the_newest(client):
    assert list(client.versions) == in_order(client.versions)
    assert len(client.versions) >= 3
    assert client.default_version == client.versions[-1]


def test_reference_client_is_published_with_the_project():
    assert REFERENCE.versions == (REFERENCE.default_version,)
    assert REFERENCE.published() == [REFERENCE.default_version]


def test_reference_client_writes_a_trace_event_before_it_continues(tmp_path, monkeypatch):
    """A process may be killed at any time, and buffered events would be lost."""
    told, event = tmp_path / "trace.jsonl", ReconnectBackoff(at_ms=1, node=2, failures=3, delay_ms=4)
    seen = []

    class Deciding(reference_program.ReferenceClient):
        def __init__(self, mutant, trace):
            trace(event)
            seen.append(told.read_bytes())

    # The program creates its client itself, and must do so without commands on stdin.
    monkeypatch.setattr(reference_program, "ReferenceClient", Deciding)
    monkeypatch.setattr(reference_program, "run", lambda make, _consumer: make())
    reference_program.main("", str(told))
    assert msgspec.json.decode(*seen, type=ReconnectBackoff) == event


def test_version_is_installed_with_pinned_dependencies(client, installed):
    launch = client.install(client.default_version)
    assert installed[0] == f"{client.name}=={client.default_version}"
    assert all("==" in requirement for requirement in installed)
    assert launch.argv == ("/cache/bin/python", "-s", str(client.program))
    assert client.program.is_file()
    assert (Path(launch.env["PYTHONPATH"]) / "verifiable" / "__init__.py").is_file()


@pytest.mark.parametrize("version", ["", "latest", "2.3.0 evil-package", ">=1", "2.3.0; import os", "-r x"])
def test_malformed_version_is_not_installed(client, version, installed):
    with raises_code(UsageError, "client-version-format", client=client.name):
        client.install(version)
    assert installed == []


@pytest.mark.parametrize(("version", "stands"), [("0.8.1", True), ("0.9.0", False), ("0.14.0", False)])
def test_aiokafka_before_0_9_needs_kafka_python(version, stands, installed):
    aiokafka.CLIENT.install(version)
    assert ("kafka-python==2.0.2" in installed) == stands


def test_program_imports_only_its_client_and_the_contract_library(client):
    """A program runs where the harness is not installed, maybe on an old Python."""
    files = [path for path in client.program.parent.glob("*.py") if path.name != "__init__.py"]
    theirs = {"aiokafka", "confluent_kafka", "kafka", *(path.stem for path in files)}
    for path in files:
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        assert _imported(tree) <= {*sys.stdlib_module_names, "verifiable", *theirs}


def _imported(tree: ast.Module) -> set[str]:
    """Return the top-level packages that are imported at run time, without those for type checkers."""
    kept = [node.orelse if _is_for_type_checkers(node) else [node] for node in tree.body]
    walked = [node for nodes in kept for top in nodes for node in ast.walk(top)]
    plain = {alias.name for node in walked if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "" for node in walked if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.split(".")[0] for name in plain | named}


def _is_for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


@pytest.mark.long("installs clients, or starts one for each test")
def test_client_passes_contract(client, tmp_path):
    results = asyncio.run(check_contract(client.install(client.default_version), folder=tmp_path))
    assert [result for result in results if not result.passed] == []
