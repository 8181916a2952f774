"""The limits of the excuses for a second copy: what a client may not take as a reason to send a batch again.

Each module contains the perturbations of one kind of reason.
"""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from suites.perturbations.limits.duplicates import faults, impatience, neighbours

PERTURBATIONS: tuple[Perturbation, ...] = (
    *impatience.PERTURBATIONS,
    *faults.PERTURBATIONS,
    *neighbours.PERTURBATIONS,
)
