"""The checks of what members ask: they accuse no reference client, and find each perturbation of its evidence."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.perturbations.membership import PERTURBATIONS
from suites.perturbations.perturbation import drawn
from tests.suites.perturbations.conftest import GROUPS, RARE, lacks

CHECKS = [
    check
    for check in registry.checks().values()
    if check.run.__module__.startswith("suites.checks.consume_wire.")
]
#: They read histories alone, but a defect that they find changes requests too.
OF_CALLS = [registry.checks()[name] for name in ("call-overdue", "callback-order")]
#: Members that commit before they process do not leave commits to their client.
AUTOMATIC = {"auto-commit-early", "auto-commit-failure", "auto-commit-pace", "commit-without-position"}
HEADINGS = [
    "## What it does",
    "## Why it is bad",
    "## How it is judged per guarantee",
    "## What it needs",
    "## References",
]
SCENARIOS = ("group/join", "group/leave-static", "group/long-processing", "group/join-new-protocol")
#: What only some perturbations need.
RARELY = tuple(dict.fromkeys(scenario for scenario, _ in (*GROUPS, *RARE)))


def codes(evidence):
    """Return the codes of all findings of these checks."""
    return {finding.anomaly for check in (*CHECKS, *OF_CALLS) for finding in check.run(evidence)}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_check_has_a_page(check):
    page = __import__(check.run.__module__, fromlist=["_"]).__doc__

    assert page.startswith(f"# {check.name}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    assert check.workloads == {"consume"}
    assert check.requires >= {"frames", "history"}
    most = set() if check.name in AUTOMATIC else {Guarantee.AT_MOST_ONCE}
    assert check.guarantees == {Guarantee.AT_LEAST_ONCE} | most


@pytest.mark.parametrize("scenario", (*SCENARIOS, *RARELY))
def test_a_correct_client_is_not_accused(scenario, group_trial):
    assert codes(group_trial(scenario)) == set()


@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_perturbation_is_found(kind, group_trial):
    fitting = [group_trial(scenario) for scenario in SCENARIOS if kind.fits(group_trial(scenario))]
    fitting = fitting or [each for each in map(group_trial, RARELY) if kind.fits(each)]
    assert fitting
    for evidence in fitting:
        for place in drawn(kind, evidence, seed=5, tries=3):
            perturbed = kind.apply(evidence, place)
            assert codes(perturbed) & set(kind.caught_by), place
            assert lacks(perturbed) == [], place
