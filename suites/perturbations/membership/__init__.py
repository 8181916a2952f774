"""Defects of members that show in their requests: how they join, stay, follow their coordinator, fetch and leave."""

from suites.perturbations.membership import fetching, heartbeats, joining, staying, storms, tails

PERTURBATIONS = (
    *joining.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *storms.PERTURBATIONS,
    *tails.PERTURBATIONS,
)
