"""The Node clients: their versions, and that they pass the contract tests."""

from __future__ import annotations

import asyncio

import pytest

from clients.adapters.kafkajs import CLIENT as KAFKAJS
from clients.adapters.platformatic_kafka import CLIENT as PLATFORMATIC
from harness.model.errors import UsageError
from harness.provision.versions import in_order
from suites.contract import check_contract
from testkit.codes import raises_code

pytestmark = pytest.mark.long("installs clients, or starts one for each test")

CLIENTS = pytest.mark.parametrize("client", [KAFKAJS, PLATFORMATIC], ids=lambda client: client.name)


@CLIENTS
def test_versions_are_in_order(client):
    assert list(client.versions) == in_order(client.versions)
    assert client.default_version in client.versions


@CLIENTS
@pytest.mark.parametrize(
    "version", ["", "latest", "^2.0.0", "2", "2.2", "2.x", "2.2.4 evil-package", "--help", "../tiny"]
)
def test_malformed_version_is_rejected(client, version):
    with raises_code(UsageError, "client-version-format", client=client.name):
        client.install(version)


@CLIENTS
def test_default_version_passes_contract(client, tmp_path):
    results = asyncio.run(check_contract(client.install(client.default_version), folder=tmp_path))
    assert [f"{result.case}: {result.detail}" for result in results if not result.passed] == []


@CLIENTS
def test_nonexistent_version_is_a_usage_error(client):
    with raises_code(UsageError, "unknown-client-version"):
        client.install("99.9.9")


@CLIENTS
def test_registry_lists_every_tested_version(client):
    listed = client.published()
    assert set(client.versions) <= set(listed)
    assert listed == in_order(listed)
