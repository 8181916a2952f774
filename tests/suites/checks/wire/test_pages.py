"""Every wire check has a page, names a mutant that names it, and needs no trace."""

from __future__ import annotations

import pytest

from clients.seeding.table import mutants
from harness.plugins import registry

HEADINGS = [
    "## What it does",
    "## Why it is bad",
    "## How it is judged per guarantee",
    "## What it needs",
    "## References",
]
CHECKS = [
    check for check in registry.checks().values() if check.run.__module__.startswith("suites.checks.wire.")
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_check_has_a_page(check):
    page = __import__(check.run.__module__, fromlist=["_"]).__doc__

    assert page.startswith(f"# {check.name}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    assert check.name in mutants()[check.killed_mutant].caught_by
    assert "trace" not in check.requires


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_no_situation_arises_without_traffic(check, story):
    evidence = story().evidence()

    assert check.run(evidence) == []
    assert [requirement.arises(evidence) for requirement in check.requirements] == [0] * len(
        check.requirements
    )
