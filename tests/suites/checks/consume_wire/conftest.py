"""Simulated trials of groups of the reference client, as evidence of any client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.verdicts import Guarantee
from harness.planning import selection
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import SimulatedTrial
from suites.perturbations.trying import plain


@cache
def simulated(scenario: str, seed: int = 1) -> Evidence:
    """Return the evidence of a group under at-least-once, without its trace."""
    [ref] = selection.clients(["reference"], ())
    once = replace(registry.scenario(scenario), guarantees=(Guarantee.AT_LEAST_ONCE,), modes=BOTH_MODES)
    broker = f"scripted:4.3.1x{once.needs_brokers}"
    return plain(SimulatedTrial(spec_of(once, assert_simulated(ref), seed, broker), RUN_ID).run())


@pytest.fixture(scope="session")
def group_trial() -> Callable[..., Evidence]:
    """Return what runs a trial, once for each scenario and seed."""
    return simulated
