"""Every client at every version that we say was tried: its manners, what it says of itself, and calm producing.

``make test`` has one version of some clients, so that each language is there; ``make test-clients`` has all of all.
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


def test_every_client_was_tried_at_three_versions_or_more(everybody, told_by):
    for name in everybody:
        kind = registry.client(name)
        assert len(set(kind.versions)) >= 3 and kind.default_version in kind.versions, name
        assert list(told_by(name)) == list(kind.versions), f"python scripts/probe_clients.py {name}"


@pytest.mark.long("installs clients, or starts one for each test")
def test_it_speaks_the_contract(each_client, tmp_path):
    results = asyncio.run(check_contract(launch(*each_client), folder=tmp_path))
    assert [result for result in results if not result.passed] == []


@pytest.mark.long("installs clients, or starts one for each test")
def test_it_says_what_is_published(each_client, told_by, tmp_path):
    """docs/reference/clients.md is what the clients say: if this fails, ``python scripts/probe_clients.py NAME``."""
    name, version = each_client
    told = asyncio.run(ask(launch(name, version), tmp_path))
    assert told.client_version == version
    assert told == told_by(name)[version]


@pytest.mark.parametrize(
    ("name", "tool"),
    [("rdkafka", "tool-missing"), ("confluent-kafka-go", coded("compiler-missing", compiler="gcc"))],
)
def test_a_missing_tool_chain_is_one_clear_word(name, tool, monkeypatch, tmp_path):
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
