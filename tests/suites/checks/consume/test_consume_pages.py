"""Every check of consumers has a page, accuses no client of a calm trial, and judges nothing without a group."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins import registry

CHECKS = [
    check for check in registry.checks().values() if check.run.__module__.startswith("suites.checks.consume.")
]
HEADINGS = [
    "## What it does",
    "## Why it is bad",
    "## How it is judged per guarantee",
    "## What it needs",
    "## References",
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_check_has_a_page(check):
    page = __import__(check.run.__module__, fromlist=["_"]).__doc__

    assert page.startswith(f"# {check.name}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    assert check.workloads == {"consume"}
    assert "trace" not in check.requires


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("guarantee", [Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE])
def test_calm_trial_is_not_accused(check, guarantee, calm, transactional):
    assert check.run(calm(guarantee).evidence()) == []
    assert check.run(transactional(guarantee).evidence()) == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_no_situation_arises_without_a_group(check, group):
    evidence = group().evidence()

    assert check.run(evidence) == []
    assert {requirement.arises(evidence) for requirement in check.requirements} == {0}


def test_each_situation_of_a_moving_partition_arises_in_a_calm_trial(calm, transactional):
    told = calm().evidence(), transactional().evidence()
    names = {
        check.name
        for check in CHECKS
        if any(each.arises(evidence) for each in check.requirements for evidence in told)
    }

    # These need trouble: records left over, a long time after the faults, a commit or a call of a stranger, an
    # exception, a call that lasts, several commits in progress, or a wakeup.
    needy = {
        "call-accepted",
        "call-overdue",
        "callback-order",
        "commit-unowned",
        "illegal-call-accepted",
        "listener-error-hidden",
        "orphaned",
        "undelivered",
        "wakeup-unheard",
    }
    assert {check.name for check in CHECKS} - names == needy
