"""Defects of consumers: wrong deliveries, commits, owners and endings, and exceptions that are not passed on."""

from suites.perturbations.consuming import (
    commits,
    deliveries,
    endings,
    listeners,
    owners,
    transactions,
    truncations,
)

PERTURBATIONS = (
    *deliveries.PERTURBATIONS,
    *commits.PERTURBATIONS,
    *owners.PERTURBATIONS,
    *endings.PERTURBATIONS,
    *listeners.PERTURBATIONS,
    *transactions.PERTURBATIONS,
    *truncations.PERTURBATIONS,
)
