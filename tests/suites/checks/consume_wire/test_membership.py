"""The checks of what members ask: they accuse no reference client, and find each perturbation of its evidence."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.perturbations.membership import PERTURBATIONS
from suites.perturbations.perturbation import drawn
from tests.suites.perturbations.conftest import lacks

CHECKS = [
    check
    for check in registry.checks().values()
    if check.run.__module__.startswith("suites.checks.consume_wire.")
    or check.name in ("call-overdue", "callback-order")
]
HEADINGS = [
    "## What it does",
    "## Why it is bad",
    "## How it is judged per guarantee",
    "## What it needs",
    "## References",
]
SCENARIOS = ("group/join", "group/leave-static", "group/long-processing", "group/join-new-protocol")
#: A log that ends with markers, what shows only after an error, a slow rebalance, and commits of other kinds: few
#: perturbations need them.
RARELY = (
    "consume/control-tail",
    "consume/disconnect-assigned",
    "consume/unclean-election",
    "delivery/paused",
    "group/auto-commit-join",
    "group/auto-commit-out-of-range",
    "group/commit-answer-late-async",
    "group/commit-stale-epoch-auto",
    "group/epoch-fatal",
    "group/epoch-fenced",
    "group/heartbeat-answer-held",
    "group/heartbeat-unknown",
    "group/join-cooperative",
    "group/join-new-protocol-auto-commit",
    "group/late-poll",
    "group/late-poll-new-protocol",
    "group/late-poll-static",
    "group/listener-throws-revoked-new-protocol",
    "group/long-processing-new-protocol",
    "group/offsets-unstable",
    "group/wakeup-while-joining",
)


def codes(evidence):
    """Return the codes of all findings of these checks."""
    return {finding.anomaly for check in CHECKS for finding in check.run(evidence)}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_check_has_a_page(check):
    page = __import__(check.run.__module__, fromlist=["_"]).__doc__

    assert page.startswith(f"# {check.name}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    assert check.workloads == {"consume"}
    assert check.requires >= {"history"}
    assert Guarantee.AT_LEAST_ONCE in check.guarantees <= {Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE}


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
            assert lacks(perturbed) == lacks(evidence), place
