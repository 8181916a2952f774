"""Every client at every tested version: the contract tests, the published capabilities, and missing tools.

``make test`` covers one version of some clients, so that every language is included. ``make test-clients``
covers all.
"""

from __future__ import annotations

import asyncio
import shutil
from functools import cache

import pytest

from harness.model.errors import EnvironmentProblem
from harness.plugins import registry
from harness.plugins.client import Launch
from suites.contract import check_contract
from suites.contract.probe import ask
from testkit.codes import coded, raises_code


@cache
def launch(name: str, version: str) -> Launch:
    return registry.client(name).install(version)


def test_every_client_has_three_tested_versions(other_clients, published_by):
    for name in other_clients:
        kind = registry.client(name)
        assert len(set(kind.versions)) >= 3 and kind.default_version in kind.versions, name
        assert list(published_by(name)) == list(kind.versions), f"python scripts/probe_clients.py {name}"


@pytest.mark.long("installs clients, or starts one for each test")
def test_every_client_passes_contract(each_client, tmp_path):
    results = asyncio.run(check_contract(launch(*each_client), folder=tmp_path))
    assert [result for result in results if not result.passed] == []


@pytest.mark.long("installs clients, or starts one for each test")
def test_capabilities_match_published_ones(each_client, published_by, tmp_path):
    """docs/reference/clients.md shows what the clients report.

    On failure run ``python scripts/probe_clients.py NAME``.
    """
    name, version = each_client
    told = asyncio.run(ask(launch(name, version), tmp_path))
    assert told.client_version == version
    assert told == published_by(name)[version]


@pytest.mark.parametrize(
    ("name", "tool"),
    [("rdkafka", "tool-missing"), ("confluent-kafka-go", coded("compiler-missing", compiler="gcc"))],
)
def test_missing_tool_is_reported(name, tool, monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = tmp_path / "bin"
    kept.mkdir()
    for program in ("go", "sh", "env"):
        if there := shutil.which(program):
            (kept / program).symlink_to(there)
    monkeypatch.setenv("PATH", str(kept))
    with raises_code(EnvironmentProblem, tool) as caught:
        registry.client(name).install(registry.client(name).default_version)
    assert "\n" not in str(caught.value)
