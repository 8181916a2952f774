"""Defects of members that show in their requests: how they join, stay, follow their coordinator, fetch and leave."""

from suites.perturbations.membership import (
    fetches,
    fetching,
    heartbeats,
    joining,
    leaders,
    pauses,
    positions,
    staying,
    tails,
)

PERTURBATIONS = (
    *joining.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *fetches.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *leaders.PERTURBATIONS,
    *pauses.PERTURBATIONS,
    *positions.PERTURBATIONS,
    *tails.PERTURBATIONS,
)
