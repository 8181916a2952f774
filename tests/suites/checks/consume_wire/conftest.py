"""Simulated trials of groups of the reference client, as evidence of any client."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee
from suites.perturbations.trying import plain
from tests.suites.perturbations.conftest import trial


@cache
def simulated(scenario: str, seed: int = 1) -> Evidence:
    """Return the evidence of a group under at-least-once, without its trace."""
    return plain(trial(scenario, Guarantee.AT_LEAST_ONCE, seed))


@pytest.fixture(scope="session")
def group_trial() -> Callable[..., Evidence]:
    """Return what runs a trial, once for each scenario and seed."""
    return simulated
