"""The limits of the excuses for a bad result: for a batch that expires, is late, is refused, or is acknowledged.

Each module contains the perturbations of one of these topics.
"""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from suites.perturbations.limits.results import acknowledged, expired, refused, unhindered

PERTURBATIONS: tuple[Perturbation, ...] = (
    *expired.PERTURBATIONS,
    *refused.PERTURBATIONS,
    *unhindered.PERTURBATIONS,
    *acknowledged.PERTURBATIONS,
)
