"""Counts written into pages by hand are those of the tables."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest

import suites.analysis
import suites.checks
from harness.plugins import registry
from suites.analysis.excuses import GRANTED
from suites.perturbations.table import PERTURBATIONS
from suites.requirements import behaviours, coverage
from suites.requirements.coverage import Judged

ROOT = Path(__file__).resolve().parent.parent.parent
TRUST, README = "docs/explanation/trust.md", "README.md"


def excuses() -> int:
    for package in (suites.checks, suites.analysis):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return len(GRANTED)


def judged(how: Judged) -> int:
    return Counter(row.judged for _, rows in coverage.coverage().values() for row in rows)[how]


@pytest.mark.parametrize(
    ("page", "pattern", "count"),
    [
        (TRUST, r"(\d+) versions of the reference client", lambda: len(registry.table("mutants"))),
        (TRUST, r"as one of (\d+)\s+kinds", lambda: len(PERTURBATIONS)),
        (TRUST, r"There are (\d+) rules", excuses),
        (TRUST, r"Of (\d+) behaviours", lambda: len(behaviours())),
        (TRUST, r"behaviours, (\d+) are judged on any client", lambda: judged(Judged.ANY_CLIENT)),
        (README, r"\[(\d+) behaviours\]", lambda: len(behaviours())),
        (README, r"of which (\d+) are judged on any client", lambda: judged(Judged.ANY_CLIENT)),
        (README, r"and (\d+) more on the reference client", lambda: judged(Judged.REFERENCE)),
        (README, r"\[(\d+) kinds\]", lambda: len(registry.table("faults"))),
    ],
)
def test_a_page_has_the_count_of_its_table(page, pattern, count):
    assert [int(each) for each in re.findall(pattern, (ROOT / page).read_text())] == [count()]
