"""Commits that overtake their records, with several brokers: EndTxn and Produce take different connections."""

from __future__ import annotations

import pytest

from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from suites.checks.transactions import end_overtakes_records
from suites.perturbations.perturbation import drawn
from suites.perturbations.transactions import PERTURBATIONS
from tests.suites.perturbations.conftest import lacks

KINDS = {each.name: each for each in PERTURBATIONS if each.name.startswith("commit-before")}


@pytest.fixture(scope="module")
def trials():
    scenario = registry.scenario("transactions/calm")
    reference = ClientRef("reference", registry.client("reference").default_version)
    return [
        SimulatedTrial(spec_of(scenario, reference, seed, "scripted:4.3.1x3"), RUN_ID).run()
        for seed in range(1, 5)
    ]


@pytest.mark.parametrize("name", KINDS)
def test_perturbation_is_found(trials, name):
    kind = KINDS[name]
    fitting = [each for each in trials if kind.fits(each)]
    assert fitting
    for evidence in fitting:
        assert end_overtakes_records.run(evidence) == []
        for place in drawn(kind, evidence, seed=3, tries=3):
            perturbed = kind.apply(evidence, place)
            assert perturbed == kind.apply(evidence, place) != evidence
            assert {each.anomaly for each in end_overtakes_records.run(perturbed)} & set(kind.caught_by)
            assert lacks(perturbed) == []
