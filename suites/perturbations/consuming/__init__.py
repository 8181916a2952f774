"""Defects of consumers: wrong deliveries, commits, owners and endings."""

from suites.perturbations.consuming import (
    calls,
    commits,
    deliveries,
    endings,
    owners,
    transactions,
    truncations,
)

PERTURBATIONS = (
    *deliveries.PERTURBATIONS,
    *commits.PERTURBATIONS,
    *calls.PERTURBATIONS,
    *owners.PERTURBATIONS,
    *endings.PERTURBATIONS,
    *transactions.PERTURBATIONS,
    *truncations.PERTURBATIONS,
)
