"""The trace of a client with an internal defect: what it reports of its own decisions, if it has a trace.

The other channels stay as they are, since these defects have not had an effect outside of the client yet.
"""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from suites.perturbations.traces import batches, connections, machines

PERTURBATIONS: tuple[Perturbation, ...] = (
    *machines.PERTURBATIONS,
    *batches.PERTURBATIONS,
    *connections.PERTURBATIONS,
)
