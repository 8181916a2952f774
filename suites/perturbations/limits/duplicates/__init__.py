"""Where the excuses of a second copy end: what a client may not take for a reason to send a batch again.

Each module has the perturbations of one kind of reason.
"""

from __future__ import annotations

from suites.perturbations.limits.duplicates import faults, impatience, neighbours
from suites.perturbations.perturbation import Perturbation

PERTURBATIONS: tuple[Perturbation, ...] = (
    *impatience.PERTURBATIONS,
    *faults.PERTURBATIONS,
    *neighbours.PERTURBATIONS,
)
