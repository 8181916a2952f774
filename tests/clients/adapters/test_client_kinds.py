"""The client kinds: what they are called, which versions they have, and that they keep the contract."""

from __future__ import annotations

import asyncio

import pytest

from clients.adapters.confluent_kafka import CLIENT as CONFLUENT
from clients.adapters.reference import CLIENT as REFERENCE
from clients.seeding.table import components_of, mutants
from clients.seeding.variant import Variant
from harness.model.errors import UsageError
from harness.plugins import registry
from suites.contract import check_contract
from testkit.codes import raises_code


def offences(launch, folder) -> list[str]:
    results = asyncio.run(check_contract(launch, folder=folder))
    return [f"{result.case}: {result.detail}" for result in results if not result.passed]


@pytest.mark.long("installs clients, or starts one for each test")
def test_the_reference_client_keeps_the_contract(tmp_path):
    assert offences(REFERENCE.install(REFERENCE.default_version), tmp_path) == []


@pytest.mark.jvm
@pytest.mark.parametrize("version", [CONFLUENT.default_version, "2.3.0", "2.0.2"])
def test_confluent_kafka_keeps_the_contract(version, tmp_path):
    assert offences(CONFLUENT.install(version), tmp_path) == []


@pytest.mark.jvm
@pytest.mark.parametrize("name", [name for name, mutant in mutants().items() if mutant.scenario])
def test_a_mutant_keeps_the_contract(name, tmp_path):
    """Its defect is Kafka's business; were its manners bad, nothing could be learnt from it."""
    kind = registry.client(f"mutant-{name}")
    assert offences(kind.install(kind.default_version), tmp_path) == []


def test_the_reference_client_has_one_version():
    with raises_code(UsageError, "client-version-fixed", name="reference", version="9.9"):
        REFERENCE.install("9.9")


@pytest.mark.parametrize("version", ["", "latest", "2.3.0 evil-package", "2.3.0; import os", "-r x"])
def test_a_version_of_confluent_kafka_is_a_number(version):
    with raises_code(UsageError, "client-version-format", client="confluent-kafka"):
        CONFLUENT.install(version)


@pytest.mark.parametrize("name", registry.names("mutants"))
def test_a_mutant_has_one_seeded_defect(name):
    swapped = {
        part for part, chosen in vars(components_of(name)).items() if chosen is not getattr(Variant(), part)
    }
    assert len(swapped) == 1
    kind = registry.client(f"mutant-{name}")
    assert (kind.name, kind.mutant) == (f"mutant-{name}", True)
    assert kind.install(kind.default_version) != REFERENCE.install(REFERENCE.default_version)


def test_an_unknown_mutant_is_a_usage_error():
    with raises_code(UsageError, "unknown-name", suggestion="never_expires"):
        components_of("never_expire")
