"""Defects of members that show in their requests: how they join, stay, follow their coordinator, fetch and leave."""

from suites.perturbations.membership import (
    callbacks,
    fencing,
    fetching,
    heartbeats,
    joining,
    pace,
    reconciling,
    refusals,
    staying,
    tails,
)

PERTURBATIONS = (
    *joining.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *pace.PERTURBATIONS,
    *fencing.PERTURBATIONS,
    *reconciling.PERTURBATIONS,
    *callbacks.PERTURBATIONS,
    *refusals.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *tails.PERTURBATIONS,
)
