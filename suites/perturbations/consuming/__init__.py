"""Defects of consumers: wrong deliveries, commits, owners and endings."""

from suites.perturbations.consuming import commits, deliveries, endings, owners, transactions, truncations

PERTURBATIONS = (
    *deliveries.PERTURBATIONS,
    *commits.PERTURBATIONS,
    *owners.PERTURBATIONS,
    *endings.PERTURBATIONS,
    *transactions.PERTURBATIONS,
    *truncations.PERTURBATIONS,
)
