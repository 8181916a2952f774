"""Results that a client must not leave: records given up too early, and results missing or at the wrong time.

Each module contains the perturbations of one of these topics.
"""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from suites.perturbations.results import given_up, late, missing

PERTURBATIONS: tuple[Perturbation, ...] = (
    *given_up.PERTURBATIONS,
    *missing.PERTURBATIONS,
    *late.PERTURBATIONS,
)
