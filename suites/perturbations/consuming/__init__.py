"""Defects of consumers: wrong deliveries, commits, owners and endings, and exceptions that are not passed on."""

from suites.perturbations.consuming import (
    calls,
    commits,
    damages,
    deliveries,
    dropped,
    endings,
    listeners,
    owners,
    transactions,
    truncations,
)

PERTURBATIONS = (
    *calls.PERTURBATIONS,
    *commits.PERTURBATIONS,
    *damages.PERTURBATIONS,
    *deliveries.PERTURBATIONS,
    *dropped.PERTURBATIONS,
    *endings.PERTURBATIONS,
    *listeners.PERTURBATIONS,
    *owners.PERTURBATIONS,
    *transactions.PERTURBATIONS,
    *truncations.PERTURBATIONS,
)
