"""Requests that a client must not send: too many, too soon, too late, to the wrong place, or against its settings.

Each module contains the perturbations of one of these topics.
"""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from suites.perturbations.requests import (
    connections,
    destinations,
    in_flight,
    pace,
    retries,
    settings,
    too_late,
)

PERTURBATIONS: tuple[Perturbation, ...] = (
    *pace.PERTURBATIONS,
    *retries.PERTURBATIONS,
    *connections.PERTURBATIONS,
    *in_flight.PERTURBATIONS,
    *settings.PERTURBATIONS,
    *destinations.PERTURBATIONS,
    *too_late.PERTURBATIONS,
)
