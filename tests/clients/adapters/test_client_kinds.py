"""The client kinds: their names, their versions, and that they pass the contract tests."""

from __future__ import annotations

import asyncio

import pytest

from clients.adapters.confluent_kafka import CLIENT as CONFLUENT
from clients.adapters.reference import CLIENT as REFERENCE
from clients.seeding.consumer_variant import ConsumerVariant, variant_of
from clients.seeding.table import components_of, consumer_components_of, mutants
from clients.seeding.variant import Variant
from harness.model.errors import UsageError
from harness.plugins import registry
from suites.contract import check_contract
from testkit.codes import raises_code


def offences(launch, folder) -> list[str]:
    results = asyncio.run(check_contract(launch, folder=folder))
    return [f"{result.case}: {result.detail}" for result in results if not result.passed]


@pytest.mark.long("installs clients, or starts one for each test")
def test_reference_client_passes_contract(tmp_path):
    assert offences(REFERENCE.install(REFERENCE.default_version), tmp_path) == []


@pytest.mark.jvm
@pytest.mark.parametrize("version", [CONFLUENT.default_version, "2.3.0", "2.0.2"])
def test_confluent_kafka_passes_contract(version, tmp_path):
    assert offences(CONFLUENT.install(version), tmp_path) == []


#: One that sends too early, one that sends something else and one that reports something else.
SOME_MUTANTS = {"corrupts_on_retry", "reorders_on_retry", "reports_success_as_failure"}


@pytest.mark.jvm
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SOME_MUTANTS else pytest.mark.every_client)
        for name, mutant in mutants().items()
        if mutant.scenario
    ],
)
def test_mutant_passes_contract(name, tmp_path):
    """A mutant's defect must be in its Kafka behaviour, not in how it follows the contract."""
    kind = registry.client(f"mutant-{name}")
    assert offences(kind.install(kind.default_version), tmp_path) == []


def test_reference_client_has_one_version():
    with raises_code(UsageError, "client-version-fixed", name="reference", version="9.9"):
        REFERENCE.install("9.9")


@pytest.mark.parametrize("version", ["", "latest", "2.3.0 evil-package", "2.3.0; import os", "-r x"])
def test_confluent_kafka_rejects_version_that_is_not_a_number(version):
    with raises_code(UsageError, "client-version-format", client="confluent-kafka"):
        CONFLUENT.install(version)


@pytest.mark.parametrize("name", registry.names("mutants"))
def test_mutant_has_one_seeded_defect(name):
    sides = (components_of(name), Variant()), (variant_of(consumer_components_of(name)), ConsumerVariant())
    swapped = {
        part
        for side, usual in sides
        for part, chosen in vars(side).items()
        if chosen is not getattr(usual, part)
    }
    assert len(swapped) == 1
    kind = registry.client(f"mutant-{name}")
    assert (kind.name, kind.mutant) == (f"mutant-{name}", True)
    assert kind.install(kind.default_version) != REFERENCE.install(REFERENCE.default_version)


def test_unknown_mutant_is_usage_error():
    with raises_code(UsageError, "unknown-name", suggestion="never_expires"):
        components_of("never_expire")
