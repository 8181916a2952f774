"""Each perturbation of a group's evidence is found by the check that it names."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.perturbations.consuming import PERTURBATIONS
from suites.perturbations.perturbation import drawn

GUARANTEES = (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)


def codes(evidence):
    """Return the codes of all findings of the checks of consumers."""
    guarantee = evidence.record.spec.guarantee
    return {
        finding.anomaly
        for check in registry.checks().values()
        if check.workloads == {"consume"} and guarantee in check.guarantees
        for finding in check.run(evidence)
    }


def long(calm, guarantee):
    """Return the calm trial with time for each defect: its members stay for half a minute after the load."""
    told = calm(guarantee, stays_ms=30_000)
    return told.evidence()


@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_perturbation_is_found(kind, calm, transactional, truncated, throwing, damaged):
    told = [long(calm, each) for each in GUARANTEES]
    makes = (transactional, truncated, throwing, damaged)
    told += [make(each).evidence() for make in makes for each in GUARANTEES]
    fitting = [evidence for evidence in told if kind.fits(evidence)]
    assert fitting
    for evidence in fitting:
        assert codes(evidence) == set()
        for place in drawn(kind, evidence, seed=5, tries=3):
            assert codes(kind.apply(evidence, place)) & set(kind.caught_by), place
